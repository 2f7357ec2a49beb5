//! How the program was built: what `--version` says. Recorded by `build.rs`.

/// The commit, the build and the libraries.
pub const LONG: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit:    ",
    env!("BUILD_COMMIT"),
    "\nbuild:     ",
    env!("BUILD_PROFILE"),
    ", ",
    env!("BUILD_TARGET"),
    ", ",
    env!("BUILD_COMPILER"),
    "\nlibraries: ",
    env!("BUILD_LIBRARIES"),
);
