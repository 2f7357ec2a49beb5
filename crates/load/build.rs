//! Records how the program was built, for `--version`.

#[path = "../../scripts/build_info.rs"]
mod build_info;

fn main() {
    build_info::record(&[
        "rustls",
        "aws-lc-rs",
        "httparse",
        "zlib-rs",
        "brotli-decompressor",
        "ruzstd",
        "hdrhistogram",
    ]);
}
