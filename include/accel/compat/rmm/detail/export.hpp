/* SPDX-License-Identifier: MIT */
/* What RMM's headers begin and end with. */
#ifndef ACCEL_COMPAT_RMM_DETAIL_EXPORT_HPP
#define ACCEL_COMPAT_RMM_DETAIL_EXPORT_HPP

#define RMM_EXPORT __attribute__((visibility("default")))
#define RMM_HIDDEN __attribute__((visibility("hidden")))

/* Until 25.12, and from 26.02 on. Nothing of these headers is in a namespace of its own. */
#define RMM_NAMESPACE rmm
#define RMM_NAMESPACE_BEGIN namespace rmm __attribute__((visibility("default"))) {
#define RMM_NAMESPACE_END }
#define RMM_CONSTEXPR_FRIEND constexpr friend

#endif /* ACCEL_COMPAT_RMM_DETAIL_EXPORT_HPP */
