//! From the flags of a run to what is asked, of whom, and what an answer has to be.
//!
//! Not here: the load that flags ask for ([`super::shape`]), scenario files ([`super::scenario`]), running.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::run_args::RunArgs;
use super::shape;
use crate::check::{Checks, Expect};
use crate::plan::{Manners, Pick, Plan, Right, Trust, Wish, target};
use crate::report::units;

/// Of a file of URLs: some millions of them.
const URLS_MAX_BYTES: u64 = 256 << 20;

pub(super) fn wish(args: &RunArgs) -> Result<Wish, String> {
    let body = match args.request.body.as_deref().map(|body| body.strip_prefix('@').ok_or(body)) {
        None => None,
        Some(Err(text)) => Some(text.as_bytes().to_vec()),
        Some(Ok(path)) => {
            Some(super::files::read(Path::new(path)).map_err(|why| format!("the body: {why}"))?)
        }
    };
    let mut headers = args.request.headers.clone();
    let own = ["content-length", "transfer-encoding"];
    if let Some((name, _)) =
        headers.iter().find(|(name, _)| own.iter().any(|own| name.eq_ignore_ascii_case(own)))
    {
        return Err(format!("-H {name}: it follows from the body; give the body with -b"));
    }
    let says = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    if args.request.compressed && !says("Accept-Encoding") {
        headers.push(("Accept-Encoding".to_owned(), "gzip, br, zstd".to_owned()));
    }
    Ok(Wish {
        method: args.request.method.clone(),
        headers,
        body,
        keep_alive: !args.client.no_keepalive,
        right: if names_status(args) { Right::Any } else { Right::Below400 },
        cookies: args.client.cookies,
        follow: args.client.follow,
    })
}

/// Whether `--expect` says which statuses are right; no other rule about them holds then.
pub(super) fn names_status(args: &RunArgs) -> bool {
    args.look.expect.iter().any(|expect| matches!(expect, Expect::Status(..)))
}

/// What the command line names.
pub(super) enum What {
    Urls(Vec<target::Target>),
    Files(Vec<PathBuf>),
}

/// URLs are known by their form; what has none and is there as a file is a scenario.
pub(super) fn what(args: &RunArgs) -> Result<What, String> {
    let is_file =
        |word: &String| !word.contains("://") && !word.starts_with("unix:") && Path::new(word).exists();
    let files = args.what.iter().filter(|word| is_file(word)).count();
    if files > 0 && files == args.what.len() {
        if args.urls_from.is_some() {
            return Err("--urls is of URLs; a scenario says itself what is asked".to_owned());
        }
        return Ok(What::Files(args.what.iter().map(PathBuf::from).collect()));
    }
    if files > 0 {
        return Err("scenario files and URLs are two kinds of runs; name one kind".to_owned());
    }
    if !args.server.is_empty() {
        return Err("--server is of scenario files; a URL names its server".to_owned());
    }
    let target = |word: &String| {
        word.parse().map_err(|why: String| match super::swallowed::hint(word) {
            Some(hint) => format!("{why}; {hint}"),
            None => why,
        })
    };
    Ok(What::Urls(args.what.iter().map(target).collect::<Result<_, String>>()?))
}

pub(super) fn plan(args: &RunArgs, urls: &[target::Target], wish: &Wish) -> Result<Plan, String> {
    let load = shape::load(args)?;
    let pick = picked(args);
    let (targets, weights) = targets(args, urls, pick)?;
    if pick == Pick::Weighted && args.urls_from.is_none() {
        return Err("--pick weights takes the weights from --urls FILE, as in `3 /path`".to_owned());
    }
    let mut plan = Plan::of_urls(&targets, &weights, pick, wish, load)?;
    plan.manners = manners(args);
    Ok(plan)
}

/// Which URL is next. A cookie that one page gives is there for the next only where the same client asks for both, in their order.
fn picked(args: &RunArgs) -> Pick {
    args.request.pick.unwrap_or(if args.client.cookies { Pick::Each } else { Pick::InTurn })
}

/// How clients behave, and what they look at.
pub(super) fn manners(args: &RunArgs) -> Manners {
    Manners {
        checks: Checks::new(args.look.expect.clone()),
        keeps: args.client.browser_cache,
        known: args.client.resolve.clone(),
        trust: match &args.client.cacert {
            Some(path) => Trust::File(path.clone()),
            None if args.client.insecure => Trust::Everyone,
            None => Trust::System,
        },
    }
}

/// What to ask: the URLs of the command line, or those of a file.
fn targets(
    args: &RunArgs,
    urls: &[target::Target],
    pick: Pick,
) -> Result<(Vec<target::Target>, Vec<f64>), String> {
    let Some(path) = &args.urls_from else { return Ok((urls.to_vec(), Vec::new())) };
    let shown = path.display();
    let mut text = String::new();
    let file = File::open(path).map_err(|error| format!("cannot read `{shown}`: {error}"))?;
    file.take(URLS_MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| format!("cannot read `{shown}`: {error}"))?;
    if text.len() as u64 > URLS_MAX_BYTES {
        return Err(format!("`{shown}` has more than {} of URLs", units::bytes(URLS_MAX_BYTES as f64)));
    }
    // Some editors begin a text with a mark of its encoding.
    let text = text.trim_start_matches('\u{feff}');
    let base = match urls {
        [] => None,
        [base] => Some(base),
        _ => return Err("with --urls one URL says whose paths they are, not several".to_owned()),
    };
    let (text, weights) = match pick {
        Pick::Weighted => target::weighted(text).map_err(|message| format!("{shown}:{message}"))?,
        _ => (text.to_owned(), Vec::new()),
    };
    let targets = target::lines(&text, base).map_err(|message| format!("{shown}:{message}"))?;
    if targets.is_empty() {
        return Err(format!("`{shown}` names nothing to ask for"));
    }
    Ok((targets, weights))
}
