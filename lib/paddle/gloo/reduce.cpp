// SPDX-License-Identifier: MIT
//
// Reductions of elements in host memory. Results do not depend on the machine: floating point is
// computed in the type itself, half and bfloat16 in float, with a rounding after each step.

#include "reduce.hpp"

#include <cmath>
#include <complex>
#include <cstring>
#include <type_traits>

namespace
{

// ---- 16-bit floating point ----

struct half {
	uint16_t bits;
};

struct brain {
	uint16_t bits;
};

float float_of_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

uint32_t bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

float widen(brain value)
{
	return float_of_bits(static_cast<uint32_t>(value.bits) << 16);
}

// To the nearest, ties to even; a NaN stays one.
brain narrow_to(float value, brain)
{
	uint32_t bits = bits_of_float(value);

	if (std::isnan(value))
		return { static_cast<uint16_t>(bits >> 16 | 0x40) };
	return { static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16) };
}

float widen(half value)
{
	uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000) << 16;
	uint32_t exponent = value.bits >> 10 & 0x1f, fraction = value.bits & 0x3ff;

	if (exponent == 0x1f)
		return float_of_bits(sign | 0x7f800000 | fraction << 13);
	if (exponent)
		return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
	// A subnormal number is a multiple of 2^-24.
	return float_of_bits(sign | bits_of_float(static_cast<float>(fraction) * 0x1p-24f));
}

half narrow_to(float value, half)
{
	uint32_t bits = bits_of_float(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;

	if (rest > 0x7f800000)
		return { static_cast<uint16_t>(sign | 0x7e00) };
	// From 65520 on, the nearest is infinity.
	if (rest >= 0x477ff000)
		return { static_cast<uint16_t>(sign | 0x7c00) };
	if (rest < 0x38800000) {
		// The CPU rounds to a multiple of 2^-24, as float's last bit is 2^-24 from 0.5 to 1.
		float shifted = float_of_bits(rest) + 0.5f;

		return { static_cast<uint16_t>(sign | (bits_of_float(shifted) - 0x3f000000)) };
	}
	rest += 0xfff + (rest >> 13 & 1);
	return { static_cast<uint16_t>(sign | (rest - 0x38000000) >> 13) };
}

template <typename T> constexpr bool is_small = std::is_same_v<T, half> || std::is_same_v<T, brain>;

template <typename T> struct is_complex : std::false_type {
};

template <typename T> struct is_complex<std::complex<T>> : std::true_type {
};

// ---- One element ----

struct sum {
	template <typename T> static T of(T a, T b)
	{
		// Unsigned numbers wrap, which signed ones may not.
		if constexpr (std::is_same_v<T, bool>)
			return a || b;
		else if constexpr (std::is_integral_v<T>)
			return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
		else
			return a + b;
	}
};

struct product {
	template <typename T> static T of(T a, T b)
	{
		if constexpr (std::is_same_v<T, bool>)
			return a && b;
		else if constexpr (std::is_integral_v<T>)
			return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
		else
			return a * b;
	}
};

// A NaN in any rank is one in the result.
template <typename T> bool is_nan(T value)
{
	if constexpr (std::is_floating_point_v<T>)
		return std::isnan(value);
	else
		return false;
}

struct maximum {
	template <typename T> static T of(T a, T b)
	{
		return a > b || is_nan(a) ? a : b;
	}
};

struct minimum {
	template <typename T> static T of(T a, T b)
	{
		return a < b || is_nan(a) ? a : b;
	}
};

// ---- Arrays ----

template <typename T, typename Op>
void reduce_arrays(void *out, const void *left, const void *right, size_t count)
{
	auto *to = static_cast<T *>(out);
	const auto *a = static_cast<const T *>(left), *b = static_cast<const T *>(right);

	for (size_t i = 0; i < count; i++) {
		if constexpr (is_small<T>)
			to[i] = narrow_to(Op::of(widen(a[i]), widen(b[i])), T{});
		else
			to[i] = Op::of(a[i], b[i]);
	}
}

template <typename T> void divide_array(void *data, size_t count, int by)
{
	auto *at = static_cast<T *>(data);

	for (size_t i = 0; i < count; i++) {
		if constexpr (is_small<T>)
			at[i] = narrow_to(widen(at[i]) / static_cast<float>(by), T{});
		else if constexpr (is_complex<T>::value)
			at[i] /= static_cast<typename T::value_type>(by);
		else if constexpr (std::is_signed_v<T> && std::is_integral_v<T>)
			at[i] = static_cast<T>(static_cast<int64_t>(at[i]) / by);
		else if constexpr (std::is_integral_v<T>)
			at[i] = static_cast<T>(static_cast<uint64_t>(at[i]) / static_cast<uint64_t>(by));
		else
			at[i] /= static_cast<T>(by);
	}
}

template <typename T> reducer reducer_of(reduction op)
{
	switch (op) {
	case REDUCE_SUM:
		return { reduce_arrays<T, sum>, nullptr };
	case REDUCE_AVG:
		if constexpr (std::is_same_v<T, bool>)
			return {};
		else
			return { reduce_arrays<T, sum>, divide_array<T> };
	case REDUCE_PRODUCT:
		return { reduce_arrays<T, product>, nullptr };
	case REDUCE_MAX:
		if constexpr (is_complex<T>::value)
			return {};
		else
			return { reduce_arrays<T, maximum>, nullptr };
	case REDUCE_MIN:
		if constexpr (is_complex<T>::value)
			return {};
		else
			return { reduce_arrays<T, minimum>, nullptr };
	default:
		return {};
	}
}

} // namespace

reducer find_reducer(enum type type, reduction op)
{
	switch (type) {
	case TYPE_BOOL:
		return reducer_of<bool>(op);
	case TYPE_UINT8:
		return reducer_of<uint8_t>(op);
	case TYPE_UINT16:
		return reducer_of<uint16_t>(op);
	case TYPE_UINT32:
		return reducer_of<uint32_t>(op);
	case TYPE_UINT64:
		return reducer_of<uint64_t>(op);
	case TYPE_INT8:
		return reducer_of<int8_t>(op);
	case TYPE_INT16:
		return reducer_of<int16_t>(op);
	case TYPE_INT32:
		return reducer_of<int32_t>(op);
	case TYPE_INT64:
		return reducer_of<int64_t>(op);
	case TYPE_FLOAT16:
		return reducer_of<half>(op);
	case TYPE_FLOAT32:
		return reducer_of<float>(op);
	case TYPE_FLOAT64:
		return reducer_of<double>(op);
	case TYPE_BFLOAT16:
		return reducer_of<brain>(op);
	case TYPE_COMPLEX64:
		return reducer_of<std::complex<float>>(op);
	case TYPE_COMPLEX128:
		return reducer_of<std::complex<double>>(op);
	default:
		return {};
	}
}
