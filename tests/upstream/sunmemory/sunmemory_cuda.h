/* SPDX-License-Identifier: MIT */
/* What SUNDIALS' test of its helper for CUDA includes: the constructor has the name of ours (see
 * ../../clients/sundials/build-7.1), and cudaMemcpy() copies between host and device memory. */
#include <accel/sundials.h>
#include <cuda_runtime_api.h>
