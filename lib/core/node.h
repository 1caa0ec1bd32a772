/* SPDX-License-Identifier: MIT */
/* What is in /dev. */
#ifndef LIBACCEL_NODE_H
#define LIBACCEL_NODE_H

#include <sys/types.h>

#define NODE_PATH 24

struct node {
	dev_t rdev;
	unsigned int number;
};

/* Number of nodes, in order of number in *nodes (the caller's to free), or a negative errno. */
int node_scan(struct node **nodes);
/* The node at a position; says why there is none. */
int node_find(int index, struct node *node);
/* The node with a path or a bus address. */
int node_find_name(const char *name, struct node *node);
void node_path(const struct node *node, char path[NODE_PATH]);
/* File descriptor, or a negative errno that says what to do. */
int node_open(const char *path);

#endif
