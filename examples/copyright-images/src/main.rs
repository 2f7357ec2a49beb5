//! copyright-images: a small web application that has real work to do for every request.
//!
//! `GET /pictures/NAME.jpg` decodes a photograph-sized JPEG, draws a copyright line in the language of
//! Accept-Language and encodes it again: the kind of handler an output cache is for. It caches nothing itself and
//! says nothing about caching. Not here: anything of Samovar; the example would run behind any proxy, or bare.

mod glyphs;
mod language;
mod lettering;
mod noise;
mod picture;
mod reply;
mod request;
mod scene;
mod serve;
mod studio;

use clap::Parser;
use language::Language;
use std::net::TcpListener;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use studio::Studio;

/// Serves generated photographs, each with a copyright line drawn for every single request.
#[derive(Parser)]
#[command(name = "copyright-images", version)]
struct Flags {
    /// Where to listen; port 0 takes any free port and prints it
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: String,
    /// Images drawn at once; all cores by default
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// How many pictures to generate
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pictures: u16,
    /// Write the pictures into this folder, as NAME.jpg and without a line on them, and end
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Flags::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            eprintln!("copyright-images: {trouble}");
            ExitCode::FAILURE
        }
    }
}

fn run(flags: &Flags) -> Result<(), String> {
    let threads =
        flags.threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    if let Some(folder) = &flags.write {
        return write(&Studio::open(usize::from(flags.pictures), threads)?, folder);
    }
    // Bind first: a taken port should be told at once, not after the pictures are painted.
    let listener = TcpListener::bind(&flags.listen).map_err(|e| {
        format!("cannot listen on {}: {e}; choose another with --listen, port 0 for any", flags.listen)
    })?;
    let address = listener.local_addr().map_err(|e| format!("cannot tell the address: {e}"))?;

    let start = Instant::now();
    let studio = Arc::new(Studio::open(usize::from(flags.pictures), threads)?);
    let bytes: usize = studio.pictures().iter().map(|p| p.jpeg.len()).sum();
    println!(
        "pictures   {} of {} × {}, {} KB each on average, painted in {:.1} s",
        flags.pictures,
        picture::WIDTH,
        picture::HEIGHT,
        bytes / usize::from(flags.pictures) / 1000,
        start.elapsed().as_secs_f64()
    );
    println!("work       {}", measure(&studio, threads)?);
    println!("listening  http://{address}");
    Err(format!("the listener broke: {}", serve::serve(&listener, &studio)))
}

/// Leaves the pictures as files, for applications that want some.
fn write(studio: &Studio, folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder)
        .map_err(|e| format!("cannot make the folder {}: {e}", folder.display()))?;
    for picture in studio.pictures() {
        let path = folder.join(format!("{}.jpg", picture.name));
        std::fs::write(&path, &picture.jpeg).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    println!("pictures   {} in {}", studio.pictures().len(), folder.display());
    Ok(())
}

/// Times one image, undisturbed: the median of a few.
fn measure(studio: &Studio, threads: usize) -> Result<String, String> {
    let mut runs = Vec::new();
    for picture in studio.pictures().iter().cycle().take(7) {
        runs.push(picture.lettered(Language::English)?);
    }
    runs.sort_by_key(|r| r.decode + r.draw + r.encode);
    let run = runs.get(runs.len() / 2).ok_or("no picture to measure")?;
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    let total_ms = ms(run.decode + run.draw + run.encode);
    Ok(format!(
        "{total_ms:.1} ms per image (decode {:.1}, draw {:.1}, encode {:.1}) on one core, {threads} at once",
        ms(run.decode),
        ms(run.draw),
        ms(run.encode),
    ))
}
