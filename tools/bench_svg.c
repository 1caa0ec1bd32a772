/* SPDX-License-Identifier: MIT */
/*
 * The chart of accelctl bench: bandwidth by size, both logarithmic, a line for each kind of copy.
 */
#include "bench.h"
#include "accelctl.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define LEFT 90.0
#define TOP 50.0
#define WIDTH 560.0
#define HEIGHT 320.0
#define LEGEND 150.0

/* The colours of Okabe and Ito, which differ for colour-blind readers, too. */
static const char *const colours[BENCH_KINDS] = { "#0072b2", "#d55e00", "#56b4e9",
						  "#e69f00", "#009e73", "#cc79a7" };

/* The exponents of 2 at the ends of an axis. */
struct axis {
	double low, high;
};

static double x_of(const struct axis *axis, double size)
{
	return LEFT + WIDTH * (log2(size) - axis->low) / (axis->high - axis->low);
}

static double y_of(const struct axis *axis, double rate)
{
	return TOP + HEIGHT * (axis->high - log2(rate)) / (axis->high - axis->low);
}

static void find_axes(const struct bench_point *points, int count, struct axis *sizes,
		      struct axis *rates)
{
	double low = 0, high = 0;

	for (int i = 0; i < count; i++) {
		for (int kind = 0; kind < BENCH_KINDS; kind++) {
			double rate = points[i].rates[kind];

			low = rate > 0 && (!(low > 0) || rate < low) ? rate : low;
			high = rate > high ? rate : high;
		}
	}
	*sizes = (struct axis){ floor(log2((double)points[0].size)),
				ceil(log2((double)points[count - 1].size)) };
	*rates = (struct axis){ floor(low > 0 ? log2(low) : 0), ceil(high > 0 ? log2(high) : 1) };
	if (!(sizes->high > sizes->low))
		sizes->high = sizes->low + 1;
	if (!(rates->high > rates->low))
		rates->high = rates->low + 1;
}

/* At most 10 lines with labels. */
static void draw_grid(FILE *file, const struct axis *sizes, const struct axis *rates)
{
	double step = ceil((sizes->high - sizes->low) / 10), at;

	for (at = sizes->low; at <= sizes->high; at += step) {
		double x = x_of(sizes, exp2(at));

		fprintf(file,
			"<path class=\"grid\" d=\"M%.1f %.1fv%.1f\"/>\n"
			"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
			x, TOP, HEIGHT, x, TOP + HEIGHT + 20, size_text(exp2(at)));
	}
	step = ceil((rates->high - rates->low) / 10);
	for (at = rates->low; at <= rates->high; at += step) {
		double y = y_of(rates, exp2(at));

		fprintf(file,
			"<path class=\"grid\" d=\"M%.1f %.1fh%.1f\"/>\n"
			"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s/s</text>\n",
			LEFT, y, WIDTH, LEFT - 8, y + 4, size_text(exp2(at)));
	}
}

static void draw_line(FILE *file, int kind, const struct bench_point *points, int count,
		      const struct axis *sizes, const struct axis *rates)
{
	double y = TOP + 20 * kind;

	fprintf(file, "<polyline stroke=\"%s\" points=\"", colours[kind]);
	for (int i = 0; i < count; i++)
		if (points[i].rates[kind] > 0)
			fprintf(file, "%.1f,%.1f ", x_of(sizes, (double)points[i].size),
				y_of(rates, points[i].rates[kind]));
	fprintf(file,
		"\"/>\n<path stroke=\"%s\" stroke-width=\"2\" d=\"M%.1f %.1fh20\"/>\n"
		"<text x=\"%.1f\" y=\"%.1f\">%s</text>\n",
		colours[kind], LEFT + WIDTH + 16, y + 6, LEFT + WIDTH + 42, y + 10,
		bench_names[kind]);
}

bool bench_write_svg(const char *path, const struct accel_device_info *info,
		     const struct bench_point *points, int count)
{
	FILE *file = fopen(path, "we");
	struct axis sizes, rates;
	bool failed;

	if (!file)
		return false;
	find_axes(points, count, &sizes, &rates);
	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\">\n"
		"<style>text { font: 12px sans-serif; fill: #222 } .grid { stroke: #ddd }\n"
		"polyline { fill: none; stroke-width: 2 }</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		"<text x=\"%.1f\" y=\"24\" font-weight=\"bold\">"
		"Bandwidth by size: device %u, %s at %s</text>\n",
		LEFT + WIDTH + LEGEND, TOP + HEIGHT + 40, LEFT, info->node, info->name,
		info->bus_address);
	draw_grid(file, &sizes, &rates);
	for (int kind = 0; kind < BENCH_KINDS; kind++)
		draw_line(file, kind, points, count, &sizes, &rates);
	fputs("</svg>\n", file);
	failed = ferror(file);
	return !fclose(file) && !failed;
}
