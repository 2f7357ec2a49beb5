//! Sections: which requests they take, and what becomes of those that cannot be said.
//!
//! A section that guards and that no rule can select closes at least what it took; all that is left out is told of, with
//! what is in it.

use super::access::Access;
use super::directives::Conf;
use super::words::{is_page, own_page};
use crate::draft::{Draft, Options};
use crate::note::{Consequence, Fate, Refused};
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{PathSet, Select, Wide, is_whole, regex};

/// What a section takes: exactly, if a rule can say it, and at most.
struct Taken {
    exact: Option<Select>,
    at_most: PathSet,
}

/// Whether something in it keeps somebody out.
pub(super) fn closes(inner: &[Directive], options: &Options) -> bool {
    let mut aside = Draft::new(options);
    let mut balancers = Vec::new();
    let mut conf = Conf::new(&mut aside, &mut balancers);
    let read = conf.all(inner, &Select::default());
    read.is_err() || conf.site.scopes.iter().any(|scope| scope.settings.guards())
}

/// What it means that none of these directives holds.
fn weight(inner: &[Directive]) -> Consequence {
    let named = |d: &Directive, names: &[&str]| {
        let lower = d.name.to_ascii_lowercase();
        names.iter().any(|name| lower.starts_with(name))
    };
    let shows = [
        "proxypass",
        "redirect",
        "rewriterule",
        "header",
        "requestheader",
        "alias",
        "errordocument",
        "sethandler",
    ];
    match () {
        () if inner.iter().any(|d| named(d, &shows)) => Consequence::BreaksSite,
        () if inner.iter().any(|d| named(d, &["cache", "expires", "mcache"])) => {
            Consequence::CachedDifferently
        }
        () => Consequence::Nothing,
    }
}

/// Tells of all that stands in what is left out.
pub(super) fn dropped(inner: &[Directive], draft: &mut Draft<'_>) {
    for d in inner {
        let keeps_out = Access::is_guard(d) && !Access::opens(d);
        let fate = if keeps_out { Fate::Unsafe } else { Fate::LeftOut };
        draft.note(
            &d.place,
            &d.shown(),
            fate,
            "the section around it is not carried over, and neither is this",
        );
        dropped(d.inside(), draft);
    }
}

/// Tells of all that stands in what is closed: nothing of it needs to be done, unless it is opened.
fn closed_with(inner: &[Directive], draft: &mut Draft<'_>) {
    for d in inner {
        draft.note(&d.place, &d.shown(), Fate::LeftOut, "the section around it is closed to everybody");
        closed_with(d.inside(), draft);
    }
}

/// Whether somebody is kept out who is let in where this is left out. What only runs programs guards nothing.
pub(super) fn guards(inner: &[Directive], options: &Options) -> bool {
    const PROGRAMS: [&str; 6] =
        ["scriptalias", "scriptaliasmatch", "alias", "addhandler", "sethandler", "addtype"];
    let own: Vec<Directive> = inner
        .iter()
        .filter(|d| !PROGRAMS.contains(&d.name.to_ascii_lowercase().as_str()))
        .cloned()
        .map(|mut d| {
            let kept = d.inner.take().map(|list| {
                list.into_iter()
                    .filter(|i| !PROGRAMS.contains(&i.name.to_ascii_lowercase().as_str()))
                    .collect()
            });
            d.inner = kept;
            d
        })
        .collect();
    closes(&own, options)
}

/// A regular expression over paths.
fn by_expression(text: &str) -> Taken {
    let wide = Wide::of(text, false);
    let usual = regex(text).filter(|select| is_whole(text, select));
    let exact = usual.or_else(|| wide.exact.then(|| Select::path(wide.paths())));
    Taken { exact, at_most: wide.paths() }
}

/// One over names of files.
fn by_name_expression(text: &str) -> Taken {
    let wide = Wide::of(text, false);
    let usual = regex(text).filter(|select| select.path == PathSet::All && is_whole(text, select));
    let exact = usual.or_else(|| wide.exact.then(|| Select::path(wide.names())));
    Taken { exact, at_most: wide.names() }
}

/// `*.php`, or a file's name.
fn by_name(name: &str) -> Taken {
    let at_most = Wide::of_wildcards(name).names();
    let extension = name.strip_prefix('*').and_then(spell::extension).map(|e| Select::extensions(vec![e]));
    let plain = !name.contains(['/', '*', '?', '[']);
    let exact = extension.or_else(|| plain.then(|| Select::path(at_most.clone())));
    Taken { exact, at_most }
}

fn by_path(d: &Directive) -> Taken {
    let path = d.arg(0);
    match path {
        "~" => by_expression(d.arg(1)),
        path if path.contains(['*', '?', '[']) => {
            Taken { exact: glob(path), at_most: Wide::of_wildcards(path).paths() }
        }
        path if path.starts_with('/') => {
            let set = PathSet::under(path);
            Taken { exact: Some(Select::path(set.clone())), at_most: set }
        }
        _ => Taken { exact: None, at_most: PathSet::All },
    }
}

impl Conf<'_, '_> {
    pub(super) fn section(
        &mut self,
        d: &Directive,
        select: &Select,
        access: &mut Access,
    ) -> Result<(), Refused> {
        let inner = d.inside();
        let name = d.name.to_ascii_lowercase();
        let nothing = "Samovar has no counterpart";
        let taken = match name.as_str() {
            "location" => by_path(d),
            "locationmatch" => by_expression(d.arg(0)),
            "files" if d.arg(0) == "~" => by_name_expression(d.arg(1)),
            "files" => by_name(d.arg(0)),
            "filesmatch" => by_name_expression(d.arg(0)),
            "directory" | "directorymatch" => return self.directory(d, &name),
            "proxy" | "proxymatch" => return self.proxied(d),
            "requireall" | "requireany" | "requirenone" => {
                access.group(&name, inner, d, self.draft);
                return Ok(());
            }
            "limit" | "limitexcept" => {
                self.dissolve(d, select, "it guards single methods, and a rule holds for all methods");
                return Ok(());
            }
            "if" | "elseif" | "else" => {
                self.dissolve(d, select, "Samovar has no conditions on requests");
                return Ok(());
            }
            // Where it is used is not known.
            "macro" => {
                self.dissolve(d, &Select::default(), nothing);
                return Ok(());
            }
            _ => {
                self.dissolve(d, select, nothing);
                return Ok(());
            }
        };
        if name.starts_with("files") && hides_dot_files(d) {
            self.carried(d, "files whose names begin with a dot are never served");
            for i in inner {
                match i.inner.is_some() {
                    true => dropped(std::slice::from_ref(i), self.draft),
                    false => self.carried(i, "files whose names begin with a dot are never served"),
                }
            }
            return Ok(());
        }
        let at_most = wide_in(select, &taken.at_most);
        // A page of httpd's own: what guards it goes with it, and nothing else may show in its place.
        if let Some(handler) = inner.iter().find(|i| i.is("SetHandler") && is_page(i.arg(0))) {
            self.close(d, &at_most, own_page(handler.arg(0)));
            closed_with(inner, self.draft);
            return Ok(());
        }
        let globs = matches!(taken.exact, Some(Select { path: PathSet::Globs(_), .. }));
        let wildcards = name == "location" && d.arg(0) != "~" && globs;
        match taken.exact.and_then(|inner| select.both(&inner)) {
            Some(narrowed) if !(wildcards && closes(inner, self.draft.options)) => {
                self.carried(d, "a rule");
                self.all(inner, &narrowed)
            }
            _ => {
                self.dissolve(d, &at_most, "a rule selects by path globs and extensions, not by this: write one for the paths that it takes");
                Ok(())
            }
        }
    }

    /// Leaves a section out, with all that is in it; what it guarded is closed.
    fn dissolve(&mut self, d: &Directive, select: &Select, why: &str) {
        let inner = d.inside();
        if closes(inner, self.draft.options) {
            self.close(d, select, why);
            closed_with(inner, self.draft);
            return;
        }
        let text = format!("{why}. What stands in it is not carried over");
        self.note_as(d, (Fate::LeftOut, weight(inner)), text);
        dropped(inner, self.draft);
    }

    /// What may pass: there is no such place here, so it holds for the whole site.
    fn proxied(&mut self, d: &Directive) -> Result<(), Refused> {
        let balancer = d.is("Proxy") && d.arg(0).starts_with("balancer://");
        let of_members = |i: &&Directive| i.inner.is_some() || Access::is_guard(i);
        let own: Vec<Directive> = d.inside().iter().filter(|i| !balancer || of_members(i)).cloned().collect();
        if closes(&own, self.draft.options) {
            self.note(d, Fate::Unsafe, "it guarded what is passed on, and guards the whole site here");
            return self.all(&own, &Select::default());
        }
        if balancer {
            dropped(&own, self.draft);
        } else {
            self.left(d, "rules of the paths that are passed on decide who may");
            dropped(d.inside(), self.draft);
        }
        Ok(())
    }

    /// A folder is a path, if it lies in the site's folder; what is said of a folder around it is said of the whole site.
    fn directory(&mut self, d: &Directive, name: &str) -> Result<(), Refused> {
        let inner = d.inside();
        let expression = match (name, d.arg(0)) {
            ("directorymatch", text) => Some(text),
            (_, "~") => Some(d.arg(1)),
            _ => None,
        };
        let slashes = |text: &str| text.trim_end_matches('/').replace('\\', "/");
        let path = slashes(d.arg(0));
        let wide = match expression {
            Some(text) => Some(Wide::of(text, false)),
            None if path.contains(['*', '?', '[']) => Some(Wide::of_wildcards(&path)),
            None => None,
        };
        let root =
            self.root.as_deref().map(slashes).filter(|root| root.starts_with('/') || root.contains(":/"));
        let Some(root) = root else {
            // Above all folders there is one.
            if path.is_empty() && wide.is_none() {
                self.carried(d, "the whole site");
                return self.all(inner, &Select::default());
            }
            self.dissolve(
                d,
                &Select::default(),
                "the site's folder is not known, so which paths this folder has is not known either",
            );
            return Ok(());
        };
        if let Some(wide) = wide {
            match wide.below(&root) {
                Some(at_most) => {
                    let why = "a rule selects by path globs and extensions, not by this: write one for the paths that it takes";
                    self.dissolve(d, &Select::path(at_most), why);
                }
                None => {
                    self.left(d, OUTSIDE);
                    dropped(inner, self.draft);
                }
            }
            return Ok(());
        }
        let lower =
            |text: &str| if text.contains(":/") { text.to_ascii_lowercase() } else { text.to_owned() };
        let (root, path) = (lower(&root), lower(&path));
        if root == path || root.starts_with(&format!("{path}/")) {
            self.carried(d, "the whole site");
            return self.all(inner, &Select::default());
        }
        match path.strip_prefix(root.as_str()).filter(|rest| rest.starts_with('/')) {
            Some(rest) => {
                self.carried(d, "a rule");
                self.all(inner, &Select::path(PathSet::under(rest)))
            }
            None => {
                self.left(d, OUTSIDE);
                dropped(inner, self.draft);
                Ok(())
            }
        }
    }
}

const OUTSIDE: &str = "Samovar serves nothing outside of the site's folder, so this section is not needed";

/// What both an outer and an inner section take.
pub(crate) fn within(outer: &Select, inner: Select) -> Option<Select> {
    outer.both(&inner)
}

/// What both take at most.
fn wide_in(outer: &Select, inner: &PathSet) -> Select {
    if let Some(both) = outer.both(&Select::path(inner.clone())) {
        return both;
    }
    match (&outer.path, inner) {
        (PathSet::Under(path), PathSet::Globs(globs)) if globs.iter().all(|g| g.starts_with("/**/")) => {
            let head = spell::literal(path.trim_end_matches('/')).unwrap_or_default();
            let globs = globs.iter().map(|glob| format!("{head}{glob}")).collect();
            Select { path: PathSet::Globs(globs), extensions: outer.extensions.clone() }
        }
        _ => outer.clone(),
    }
}

/// A path with wildcards; httpd's `*` stops at no slash in `<Location>`.
fn glob(path: &str) -> Option<Select> {
    if !path.starts_with('/') || path.contains(['[', ']', '{', '}', '\\', ',']) || path.len() > 500 {
        return None;
    }
    let doubled = path.replace("**", "*").replace('*', "**");
    // Only between slashes do two stars cross them.
    let whole = doubled.split('/').all(|part| part == "**" || !part.contains("**"));
    whole.then(|| Select::path(PathSet::Globs(vec![doubled])))
}

/// `<Files ".ht*">`, `<FilesMatch "^\.ht">`: nothing but names that begin with a dot.
fn hides_dot_files(d: &Directive) -> bool {
    let expression = d.arg(0) == "~" || d.is("FilesMatch");
    let text = if d.arg(0) == "~" { d.arg(1) } else { d.arg(0) };
    match expression {
        true => {
            let mut depth = 0;
            let alone = text.chars().all(|c| {
                depth += match c {
                    '(' => 1,
                    ')' => -1,
                    _ => 0,
                };
                c != '|' || depth > 0
            });
            alone && text.strip_prefix("^\\.").is_some_and(|rest| !rest.starts_with(['?', '*', '{']))
        }
        false => text.starts_with('.') && !text.contains('|'),
    }
}
