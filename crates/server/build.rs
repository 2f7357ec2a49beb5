//! Records how the program was built, for `--version`.

#[path = "../../scripts/build_info.rs"]
mod build_info;

fn main() {
    build_info::record(&[
        "hyper",
        "rustls",
        "aws-lc-rs",
        "zlib-rs",
        "brotli",
        "zstd",
        "libmimalloc-sys",
        "tokio",
    ]);
}
