//! End to end, at the wire and at the command line: the built programs against raw sockets.
//!
//! Numbered from simple to hard: the first red line is the nearest to the cause.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests stop at their first surprise, like the tests"
)]

mod t10_files;
mod t20_caching;
mod t25_ranges;
mod t26_interim;
mod t27_origin_says;
mod t28_stale;
mod t29_parts_of_odd_origins;
mod t29_rule_elsewhere;
mod t30_privacy;
mod t31_for_whom;
mod t32_claims;
mod t33_hosts;
mod t35_compression;
mod t35_rules;
mod t36_protected;
mod t37_readings;
mod t38_kept_back;
mod t40_collapse;
mod t45_herd;
mod t46_what_happens_to_a_fill;
mod t50_origin;
mod t51_upgrade;
mod t52_streams;
mod t53_uploads;
mod t54_bad_upstreams;
mod t55_unread_content;
mod t56_how_far;
mod t60_admin;
mod t61_explained;
mod t62_limits;
mod t63_balance;
mod t64_bounds;
mod t65_stderr;
mod t66_operator_files;
mod t67_stop;
mod t68_floods;
mod t69_sign_in;
mod t70_hot;
mod t71_tls;
mod t72_slow_clients;
mod t73_changes_race;
mod t74_proxied;
mod t80_php;
mod t81_bad_php;
mod t90_memory;
mod t95_import;
mod t96_import_guards;
