/* SPDX-License-Identifier: MIT */
/* What RMM's headers begin and end with. */
#ifndef ACCEL_COMPAT_RMM_DETAIL_EXPORT_HPP
#define ACCEL_COMPAT_RMM_DETAIL_EXPORT_HPP

#ifdef RMM_EXPORT
#error "RMM's rmm/detail/export.hpp is included before accel's: put accel/compat first in the include path"
#endif

#define RMM_EXPORT __attribute__((visibility("default")))
#define RMM_HIDDEN __attribute__((visibility("hidden")))

/* Until 25.12, and from 26.02 on. Nothing of these headers is in a namespace of its own. */
#define RMM_NAMESPACE rmm
#define RMM_NAMESPACE_BEGIN namespace rmm __attribute__((visibility("default"))) {
#define RMM_NAMESPACE_END }
#define RMM_CONSTEXPR_FRIEND constexpr friend

#endif /* ACCEL_COMPAT_RMM_DETAIL_EXPORT_HPP */
