//! From a checked tree to [`Settings`]: what the values mean together, and which of them cannot hold at once.
//!
//! Here: the order of the work and what all parts share. The parts: `server.rs` (the tables about the whole
//! server), `upstream.rs`, `site.rs`, `rule.rs`, and `advice.rs` (what is allowed but unwise).

mod acts;
mod advice;
mod balance;
mod coding;
mod rule;
mod server;
mod site;
mod upstream;

use super::diag::{Code, Diagnostic, Notes};
use super::keys;
use super::memory::Memory;
use super::net::Listen;
use super::settings::{Certificate, ServerSettings, Settings, TargetSettings, Watched};
use super::tree::{Checked, Node, Span, Value};
use super::upstreams::GateSettings;
use samovar_rules::{HotWish, Rule, Site, Sites, TargetId};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a text alone does not say.
#[derive(Clone, Debug)]
pub(crate) struct Around {
    /// The folder that relative paths begin at, absolute.
    pub base: PathBuf,
    /// The file the text comes from, absolute; never served.
    pub file: Option<PathBuf>,
    /// The memory there is.
    pub memory: Memory,
}

/// Where a rule stands in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSpan {
    /// The site's name.
    pub site: String,
    /// The rule's id.
    pub id: String,
    /// Its header.
    pub span: Span,
}

/// A file or folder that the configuration names, for the shell to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) path: PathBuf,
    pub(super) span: Span,
    pub(super) key: &'static str,
}

/// What came out.
#[derive(Debug)]
pub(super) struct Lowered {
    pub(super) settings: Settings,
    pub(super) rule_spans: Vec<RuleSpan>,
    pub(super) folders: Vec<Named>,
    pub(super) files: Vec<Named>,
}

/// All that the parts share while they work.
#[derive(Debug)]
struct Work<'a> {
    around: &'a Around,
    log_file: Option<PathBuf>,
    /// Private keys, of whichever site: never served.
    secrets: Vec<PathBuf>,
    notes: &'a mut Notes,
    hot: HotWish,
    /// `limits.body_max_bytes`.
    body_max_bytes: Option<u64>,
    targets: Vec<TargetSettings>,
    upstreams: Vec<upstream::Declared>,
    watches: Vec<Watched>,
    certificates: Vec<Certificate>,
    gates: Vec<GateSettings>,
    for_files: HashMap<String, Vec<Arc<Rule>>>,
    rule_spans: Vec<RuleSpan>,
    folders: Vec<Named>,
    files: Vec<Named>,
}

/// Lowers the whole file. The result is only good if no error was noted.
pub(super) fn lower(root: &Checked, around: &Around, notes: &mut Notes) -> Lowered {
    version(root, notes);
    let (server, default_index) = server::server(root, notes);
    let limits = server::limits(root);
    let memory = server::memory(root, around.memory, notes);
    let log = server::log(root, around);
    let hot = server::hot(root);
    let mut work = Work {
        around,
        log_file: site::log_file(&log.access),
        secrets: site::secrets(root, around),
        notes,
        hot,
        body_max_bytes: limits.body_max_bytes,
        targets: Vec::new(),
        upstreams: Vec::new(),
        watches: Vec::new(),
        certificates: Vec::new(),
        gates: Vec::new(),
        for_files: HashMap::new(),
        rule_spans: Vec::new(),
        folders: Vec::new(),
        files: Vec::new(),
    };
    upstream::declare(root, &mut work);
    let (sites, uncached_sites) = site::sites(root, &default_index, &mut work);
    upstream::unused(&mut work);
    tls(root, &server.listen, &mut work);
    passwords(root, &server, &sites, &mut work);
    let Work { targets, watches, certificates, gates, for_files, rule_spans, folders, files, .. } = work;
    let settings = Settings {
        server,
        limits,
        memory,
        log,
        hot,
        hot_bounds: server::hot_bounds(root),
        compression: coding::compression(root),
        certificates,
        targets,
        gates,
        watches,
        uncached_sites,
        unmapped_sites: site::unmapped(root, &sites),
        for_files,
        sites: Sites { sites },
    };
    Lowered { settings, rule_spans, folders, files }
}

/// A listener under TLS wants a certificate, and a certificate a listener.
fn tls(root: &Checked, listen: &[Listen], work: &mut Work<'_>) {
    let span = root.get("server").and_then(Node::table).and_then(|server| server.get("listen"));
    let span = span.map_or(0..0, |node| node.span.clone());
    let wanted = listen.iter().find(|listen| matches!(listen, Listen::Tls(_)));
    match (wanted, work.certificates.first().map(|certificate| certificate.site.clone())) {
        (Some(listen), None) => {
            let hint =
                "add `certificate = \"…\"` and `certificate_key = \"…\"` to a site, or listen on `http://`";
            work.error(
                Code::MissingKey,
                &span,
                format!("no site has a certificate to show on {listen}"),
                hint,
            );
        }
        (None, Some(site)) => {
            let hint = "add an address like \"https://0.0.0.0:443\" to `listen`, here or on the command line";
            let message =
                format!("the certificate of the site \"{site}\" is shown nowhere: no listener is `https://`");
            work.warning(Code::Unused, &span, message, hint);
        }
        _ => {}
    }
}

/// RFC 7617 §4: Basic credentials can be read by whoever sees them pass.
fn passwords(root: &Checked, server: &ServerSettings, sites: &[Site], work: &mut Work<'_>) {
    let asks = |rule: &Rule| rule.acts.as_ref().is_some_and(|acts| acts.users.is_some());
    let asked = sites.iter().any(|site| asks(&site.otherwise) || site.rules.iter().any(asks));
    // A proxy before us has the certificate.
    let proxied = !server.trusted_proxies.networks.is_empty();
    let open =
        server.listen.iter().find(|listen| matches!(listen, Listen::Tcp(at) if !at.ip().is_loopback()));
    if let (Some(open), true, false) = (open, asked, proxied) {
        let span = root.get("server").and_then(Node::table).and_then(|server| server.get("listen"));
        let span = span.map_or(0..0, |node| node.span.clone());
        let hint = "listen on `https://`, or say in `trusted_proxies` who speaks TLS for this server";
        let message = format!("passwords of `basic_auth` can be read on their way to {open}");
        work.warning(Code::Privacy, &span, message, hint);
    }
}

fn version(root: &Checked, notes: &mut Notes) {
    match root.get("config") {
        None => notes.push(
            Diagnostic::error(Code::Version, 0..0, "`config` is missing: the version of the file's format")
                .label("before the first table")
                .hint(format!("begin the file with `config = {}`", keys::VERSION)),
        ),
        Some(Node { value: Value::Int(n), span }) if *n != keys::VERSION => notes.push(
            Diagnostic::error(
                Code::Version,
                span.clone(),
                format!("version {n} of the format is not known here"),
            )
            .hint(format!("this Samovar reads `config = {}`; a newer one may read this file", keys::VERSION)),
        ),
        Some(_) => {}
    }
}

impl Work<'_> {
    /// The id of a target; equal ones are shared, and so are their connections.
    fn target(&mut self, settings: TargetSettings) -> TargetId {
        let at = self.targets.iter().position(|t| *t == settings).unwrap_or_else(|| {
            self.targets.push(settings);
            self.targets.len() - 1
        });
        TargetId(at)
    }

    fn error(&mut self, code: Code, span: &Span, message: impl Into<String>, hint: impl Into<String>) {
        self.notes.push(Diagnostic::error(code, span.clone(), message).hint(hint));
    }

    fn warning(&mut self, code: Code, span: &Span, message: impl Into<String>, hint: impl Into<String>) {
        self.notes.push(Diagnostic::warning(code, span.clone(), message).hint(hint));
    }
}

/// A path as the file system sees it, relative ones from the configuration's folder; dots are taken out by text.
fn absolute(base: &Path, text: &str) -> PathBuf {
    let mut out = PathBuf::new();
    for part in base.join(text).components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// A table of the top that may be missing, checked as empty then.
fn section(root: &Checked, name: &'static str, table: &'static super::kind::Table) -> Checked {
    match root.get(name).and_then(Node::table) {
        Some(t) => t.clone(),
        None => Checked::empty(table),
    }
}

/// The tables of a list.
fn tables<'a>(root: &'a Checked, name: &str) -> impl Iterator<Item = &'a Checked> {
    root.get(name).map_or(&[][..], Node::list).iter().filter_map(Node::table)
}
