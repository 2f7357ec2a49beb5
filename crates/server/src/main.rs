//! The `samovar` program. Everything is in the library; here is only the way in.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: samovar::alloc::Allocator = samovar::alloc::Allocator;

fn main() -> ExitCode {
    samovar::cli::main()
}
