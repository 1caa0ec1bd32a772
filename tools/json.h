/* SPDX-License-Identifier: MIT */
/*
 * JSON on standard output. A key of NULL is for elements of an array and for the whole.
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdint.h>

void json_open(const char *key, char bracket);
void json_close(char bracket);
void json_string(const char *key, const char *value);
void json_number(const char *key, uint64_t value);
void json_real(const char *key, double value);
void json_bool(const char *key, bool value);

#endif
