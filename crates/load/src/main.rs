//! The `thirst` binary: hands the command line to [`thirst::cli`] and turns its outcome into an exit code.
//!
//! Not here: anything else; the rooms are in the library so that tests can reach the pure ones.

use std::process::ExitCode;

fn main() -> ExitCode {
    thirst::cli::main()
}
