//! One attempt at the target of a route, whichever kind it is, and what its failures mean for a client.

use super::answered::Acting;
use super::arrive::RequestBody;
use super::exchange::{Exchange, Route};
use super::page::Page;
use super::respond::Ready;
use super::{coding, siblings};
use crate::state::{FilesTarget, Scripts, Snapshot, Target};
use crate::upstream::{Answered, Failed, Places};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use samovar_cache::FillFailure;
use samovar_origin::{Answer, AnswerBody, Asked, Client, Failure, Files, Interim, Resolved, Script, Timing};
use samovar_reason::{Explain, Files as FilesReason, Upstream};
use samovar_rules::{AskOrigin, Site, TargetId};
use samovar_trace::Fact;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// What is asked, freed from the request so that a fill can outlive it.
#[derive(Clone)]
pub struct Question {
    /// The core that asks.
    pub core: usize,
    /// The configuration.
    pub snapshot: Arc<Snapshot>,
    /// Where to.
    pub route: Route,
    /// Method.
    pub method: Method,
    /// End-to-end request fields.
    pub headers: HeaderMap,
    /// Who asks.
    pub client: Client,
    /// Who is told of interim answers.
    pub interim: Option<Interim>,
    /// What the rule changes between cache and origin.
    pub acting: Option<Rc<Acting>>,
    /// Protocols that an HTTP upstream may change the connection to.
    pub upgrade: Option<HeaderValue>,
}

impl Question {
    /// The question of a request as it came.
    pub fn of(x: &Exchange, route: &Route) -> Box<Question> {
        let mut headers = x.headers.clone();
        samovar_policy::strip_hop_by_hop(&mut headers);
        // The engine answers it when the body is read; towards the origin it would only add a round trip.
        headers.remove(header::EXPECT);
        headers.remove("proxy");
        // Ours alone: a client that claimed capabilities would be answered, through the cache, for everyone.
        headers
            .insert(samovar_policy::CAPABILITY_FIELD, HeaderValue::from_static(samovar_policy::CAPABILITY));
        if route.rule_in(&x.snapshot).is_some_and(|rule| rule.coding.is_some()) {
            // What was made of its tags here it does not know.
            samovar_policy::plain_tags(&mut headers);
        }
        // Boxed, as it goes through many hands.
        Box::new(Question {
            core: x.core.index,
            snapshot: Arc::clone(&x.snapshot),
            route: route.towards_origin(),
            method: x.method.clone(),
            headers,
            client: x.client.clone(),
            interim: None,
            acting: Acting::of(x, route),
            upgrade: None,
        })
    }

    /// The same as the cache wants it: without the fields that would make the origin answer with less than the
    /// whole, and with negotiation settled to what stands in the key, so that one client's wishes do not fill an
    /// entry that others are answered from.
    pub fn whole(self: Box<Self>) -> Box<Question> {
        let mut whole = self.settled();
        for name in [
            header::IF_NONE_MATCH,
            header::IF_MODIFIED_SINCE,
            header::IF_MATCH,
            header::IF_UNMODIFIED_SINCE,
            header::IF_RANGE,
            header::RANGE,
        ] {
            whole.headers.remove(name);
        }
        whole
    }

    /// The same with negotiation settled to what stands in the key.
    pub fn settled(mut self: Box<Self>) -> Box<Question> {
        let snapshot = Arc::clone(&self.snapshot);
        if let Some(rule) = self.route.rule_in(&snapshot) {
            samovar_rules::normalise_for_origin(rule, &mut self.headers);
        }
        self
    }

    fn asked(mut self: Box<Self>, body: Option<RequestBody>, body_bytes: Option<u64>) -> Asked {
        if let Some(acting) = &self.acting {
            acting.towards_origin(&mut self.headers);
        }
        let client_target = self.acting.as_ref().and_then(|acting| acting.client_target());
        Asked {
            method: self.method,
            path: self.route.path,
            query: self.route.query,
            host: self.route.host,
            headers: self.headers,
            body,
            body_bytes,
            client: self.client,
            interim: self.interim,
            client_target,
            upgrade: self.upgrade,
        }
    }
}

/// An origin's answer, and what Samovar knows beside it.
pub struct Got {
    /// The answer.
    pub answer: Answer,
    /// The origin's own tags (surrogate keys).
    pub tags: Vec<Box<str>>,
    /// Tags of the file it was made of, if changes are told.
    pub made_of: Vec<Box<str>>,
    /// A whole 200 made here, whose conditions and ranges are ours to apply.
    pub ours: bool,
    /// The target's name, for the trace.
    pub target: Arc<str>,
    /// The choices among members and the failed attempts before it.
    pub before: Vec<Fact>,
    /// The cookie that keeps the client's session where it is; for this client alone.
    pub session: Option<HeaderValue>,
}

/// A failed attempt in terms of HTTP.
pub struct Problem {
    /// The decision.
    pub fact: Fact,
    /// The page.
    pub page: Page,
    /// Fields of the answer (`Allow`, `Retry-After`).
    pub headers: HeaderMap,
    /// The reason and detail for all who wait on the same fill.
    pub failure: FillFailure,
    /// The choices among members and the failed attempts before it.
    pub before: Vec<Fact>,
}

impl Problem {
    fn new(status: StatusCode, why: Upstream, target: &str, detail: String) -> Problem {
        let mut headers = HeaderMap::new();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        let shown = if target.is_empty() { detail.clone() } else { format!("{target}: {detail}") };
        Problem {
            fact: Fact::Upstream(why, shown.clone()),
            page: Page {
                status,
                code: why.code(),
                text: why.text(),
                mend: why.mend(),
                detail: shown.clone(),
            },
            headers,
            failure: FillFailure { reason: why, detail: shown.into() },
            before: Vec::new(),
        }
    }

    fn of_failure(failed: Failed) -> Problem {
        let Failed { failure: Failure { reason, detail, .. }, target, before } = failed;
        Problem { before, ..Problem::new(status_of(reason), reason, &target, detail) }
    }

    /// A 304 to a request that asked nothing conditional.
    pub fn unasked_304(target: &str) -> Problem {
        let detail = "it answered 304 Not Modified although nothing conditional was asked".to_string();
        Problem::new(StatusCode::BAD_GATEWAY, Upstream::BadHead, target, detail)
    }

    /// Nobody waits for the answer any more, and the origin has not begun it.
    pub fn deserted() -> Problem {
        let detail = "every client left before the origin answered (`abandon_after`)".to_string();
        Problem::new(StatusCode::BAD_REQUEST, Upstream::ClientGone, "", detail)
    }

    /// The failure of a fill, for one that had joined it.
    pub fn of_fill(failure: &FillFailure) -> Problem {
        Problem::new(status_of(failure.reason), failure.reason, "", failure.detail.to_string())
    }

    fn of_files(why: FilesReason, detail: String) -> Problem {
        let status = match why {
            FilesReason::NotFound
            | FilesReason::Hidden
            | FilesReason::NotAFile
            | FilesReason::OutsideRoot => StatusCode::NOT_FOUND,
            FilesReason::NoHandler => StatusCode::NOT_FOUND,
            FilesReason::NoIndex | FilesReason::Unreadable | FilesReason::LinkRefused => {
                StatusCode::FORBIDDEN
            }
            FilesReason::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            FilesReason::RootGone | FilesReason::Changed | FilesReason::IoError => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        let mut headers = HeaderMap::new();
        if why == FilesReason::MethodNotAllowed {
            headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD, OPTIONS"));
        }
        Problem {
            fact: Fact::Files(why, detail.clone()),
            page: Page {
                status,
                code: why.code(),
                text: why.text(),
                mend: why.mend(),
                detail: detail.clone(),
            },
            headers,
            failure: FillFailure {
                reason: Upstream::Reset,
                detail: format!("{}: {detail}", why.code()).into(),
            },
            before: Vec::new(),
        }
    }

    /// What was decided, and tried before.
    pub fn into_facts(self) -> Vec<Fact> {
        let mut facts = self.before;
        facts.push(self.fact);
        facts
    }

    /// The answer to the client.
    pub fn into_ready(self, mut x: Box<Exchange>, route: Option<Route>) -> Ready {
        x.facts.extend(self.before);
        x.note(self.fact);
        let mut ready = Ready::page(x, route, self.page);
        ready.add_fields(self.headers);
        ready
    }
}

/// RFC 9110 §15.6: 502 for what an upstream did wrong, 504 for what it did not do in time, 503 for our limits.
fn status_of(why: Upstream) -> StatusCode {
    match why {
        Upstream::ConnectTimeout | Upstream::HeadTimeout | Upstream::BodyTimeout => {
            StatusCode::GATEWAY_TIMEOUT
        }
        Upstream::QueueFull
        | Upstream::QueueTimeout
        | Upstream::Overloaded
        | Upstream::NoMember
        | Upstream::UpgradedFull => StatusCode::SERVICE_UNAVAILABLE,
        Upstream::ClientGone => StatusCode::BAD_REQUEST,
        Upstream::LoopDetected => StatusCode::LOOP_DETECTED,
        Upstream::LengthRequired => StatusCode::LENGTH_REQUIRED,
        _ => StatusCode::BAD_GATEWAY,
    }
}

/// Asks the target of the route.
pub async fn attempt(
    question: Box<Question>,
    body: Option<RequestBody>,
    body_bytes: Option<u64>,
) -> Result<Box<Got>, Box<Problem>> {
    let snapshot = Arc::clone(&question.snapshot);
    let Some(site) = question.route.site_in(&snapshot) else { return Err(no_target()) };
    // A rule may send its requests to an upstream though the site has files.
    if let Some(Target::Http(upstream)) = snapshot.target(question.route.target).map(|t| &**t) {
        let places = places(&question).await?;
        let core = question.core;
        let mut asked = question.asked(body, body_bytes);
        let came = upstream.ask(core, &mut asked, None, places).await;
        return came_to(came, &asked);
    }
    // Where there are files they are asked first: a script is run only if it exists, and a folder's index
    // document may be a script.
    if let Some(Target::Files(files)) = snapshot.target(site.fallback).map(|t| &**t) {
        // Boxed, or whoever asks an upstream would carry room for it.
        return Box::pin(from_files(files, site, question, body, body_bytes)).await;
    }
    match snapshot.target(question.route.target).map(|t| &**t) {
        Some(Target::FastCgi(scripts)) => {
            let root = scripts.root.clone();
            let script = Script {
                script_filename: root.join(question.route.path.trim_start_matches('/')),
                script_name: question.route.path.clone(),
                path_info: None,
                document_root: root,
                params: Arc::clone(&scripts.params),
            };
            Box::pin(run(scripts, question, script, body, body_bytes)).await
        }
        _ => Err(no_target()),
    }
}

fn no_target() -> Box<Problem> {
    // The configuration was checked when it was lowered; an answer is still better than a panic.
    Box::new(Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        Upstream::Unreachable,
        "",
        "the site has no target".into(),
    ))
}

/// Waits for a place behind the gates of the rule and the site.
async fn places(question: &Question) -> Result<Places, Box<Problem>> {
    let Route { site, rule, .. } = question.route;
    question
        .snapshot
        .gates()
        .enter(site, rule)
        .await
        .map_err(|(why, detail)| Box::new(Problem::new(status_of(why), why, "", detail)))
}

fn got(answered: Answered) -> Box<Got> {
    let Answered { answer, target, before, session } = answered;
    let tags = tags_of(&answer.headers);
    Box::new(Got { answer, tags, made_of: Vec::new(), ours: false, target, before, session })
}

/// An answer made here.
fn own(answer: Answer, made_of: Vec<Box<str>>, target: &FilesTarget) -> Box<Got> {
    let (tags, before) = (Vec::new(), Vec::new());
    Box::new(Got {
        answer,
        tags,
        made_of,
        ours: true,
        target: Arc::clone(&target.told),
        before,
        session: None,
    })
}

async fn run(
    scripts: &Scripts,
    question: Box<Question>,
    script: Script,
    body: Option<RequestBody>,
    body_bytes: Option<u64>,
) -> Result<Box<Got>, Box<Problem>> {
    let places = places(&question).await?;
    let core = question.core;
    let mut asked = question.asked(body, body_bytes);
    let came = scripts.app.ask(core, &mut asked, Some(&script), places).await;
    came_to(came, &asked)
}

/// What came of asking. A 304 to a request that asks for none is no response to it (RFC 9110 §15.4.5), whatever its method.
fn came_to(came: Result<Answered, Box<Failed>>, asked: &Asked) -> Result<Box<Got>, Box<Problem>> {
    match came {
        Ok(answered)
            if answered.answer.status == StatusCode::NOT_MODIFIED
                && !samovar_policy::asks_for_304(&asked.method, &asked.headers) =>
        {
            let Answered { target, before, .. } = answered;
            Err(Box::new(Problem { before, ..Problem::unasked_304(&target) }))
        }
        Ok(answered) => Ok(got(answered)),
        Err(failed) => Err(Box::new(Problem::of_failure(*failed))),
    }
}

async fn from_files(
    target: &Arc<FilesTarget>,
    site: &Site,
    question: Box<Question>,
    body: Option<RequestBody>,
    body_bytes: Option<u64>,
) -> Result<Box<Got>, Box<Problem>> {
    let route = &question.route;
    let resolved = resolved(target, site, route);
    if let Some((why, detail)) = refusal(&resolved, &question.method, &route.path) {
        return Err(Box::new(Problem::of_files(why, detail)));
    }
    let path = decoded(&route.path);
    let rel = match resolved {
        Resolved::Script { rel, path_info, extension } => {
            let snapshot = Arc::clone(&question.snapshot);
            let Some(scripts) = handler(&snapshot, site, &extension) else { return Err(no_target()) };
            let script = Script {
                script_filename: under(&scripts.root, &rel),
                script_name: rel.clone(),
                path_info,
                document_root: scripts.root.clone(),
                params: Arc::clone(&scripts.params),
            };
            let mut got = run(scripts, question, script, body, body_bytes).await?;
            got.made_of = target.tags(&rel, &path);
            return Ok(got);
        }
        Resolved::No(why, detail) => return Err(Box::new(Problem::of_files(why, detail))),
        _ if question.method == Method::OPTIONS => {
            return Ok(made(target, StatusCode::NO_CONTENT, header::ALLOW, "GET, HEAD, OPTIONS"));
        }
        Resolved::Redirect(to) => {
            return Ok(made(target, StatusCode::MOVED_PERMANENTLY, header::LOCATION, &to));
        }
        Resolved::Listing(answer) => {
            let made_of = target.tags(&path, &path);
            return Ok(own(answer, made_of, target));
        }
        Resolved::File(opened) => opened,
    };
    let mut made_of = target.tags(&rel.rel, &path);
    let wish = coding::wish_of(&question.snapshot, route).filter(|wish| wish.asks == AskOrigin::Siblings);
    let answer = match wish {
        Some(wish) => siblings::answer(target, rel, &wish, &question.headers, &mut made_of),
        None => Files::answer(rel),
    };
    Ok(own(answer, made_of, target))
}

/// What the path names in a folder of files.
fn resolved(target: &FilesTarget, site: &Site, route: &Route) -> Resolved {
    let handlers: Vec<&str> = site.handlers.iter().map(|(extension, _)| extension.as_str()).collect();
    target.files.resolve(&route.path, route.query.as_deref(), &handlers, &site.index)
}

/// Why what a path names is not given to a request with this method.
fn refusal(resolved: &Resolved, method: &Method, path: &str) -> Option<(FilesReason, String)> {
    match resolved {
        Resolved::Script { .. } => None,
        _ if !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) => {
            Some((FilesReason::MethodNotAllowed, format!("{method} {path}")))
        }
        Resolved::No(why, detail) => Some((*why, detail.clone())),
        Resolved::File(_) | Resolved::Redirect(_) | Resolved::Listing(_) => None,
    }
}

/// Why a folder of files would give nothing to this request, for `explain`; `None` where another origin is asked, too.
pub fn file_refusal(snapshot: &Snapshot, route: &Route, method: &Method) -> Option<(FilesReason, String)> {
    let site = route.site_in(snapshot)?;
    if let Some(Target::Http(_)) = snapshot.target(route.target).map(|t| &**t) {
        return None;
    }
    let Target::Files(files) = &**snapshot.target(site.fallback)? else { return None };
    let route = route.towards_origin();
    refusal(&resolved(files, site, &route), method, &route.path)
}

/// A path as the file system names it, which is how changes are told.
fn decoded(path: &str) -> String {
    percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned()
}

fn under(root: &std::path::Path, rel: &str) -> PathBuf {
    root.join(rel.trim_start_matches('/'))
}

fn handler<'s>(snapshot: &'s Snapshot, site: &Site, extension: &str) -> Option<&'s Scripts> {
    let (_, id): &(String, TargetId) = site.handlers.iter().find(|(e, _)| e == extension)?;
    match &**snapshot.target(*id)? {
        Target::FastCgi(scripts) => Some(scripts),
        _ => None,
    }
}

fn made(target: &FilesTarget, status: StatusCode, name_of: header::HeaderName, value: &str) -> Box<Got> {
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name_of, value);
    }
    let answer = Answer { status, headers, body: AnswerBody::Empty, timing: Timing::default() };
    own(answer, Vec::new(), target)
}

/// Most tags of one response; what has more is not stored ([`Store::TooManyTags`]).
pub(super) const TAGS_MAX: usize = 1_024;

/// Tags of an answer (surrogate keys), as the common fields name them; one more than [`TAGS_MAX`] at most.
pub(super) fn tags_of(headers: &HeaderMap) -> Vec<Box<str>> {
    let mut tags = Vec::new();
    // One look at the names costs less than three lookups that find nothing.
    for (name, value) in headers {
        let comma = match name.as_str() {
            "surrogate-key" | "xkey" => false,
            "cache-tag" => true,
            _ => continue,
        };
        let Ok(text) = value.to_str() else { continue };
        let split = |c: char| if comma { c == ',' } else { c.is_ascii_whitespace() };
        let left = (TAGS_MAX + 1).saturating_sub(tags.len());
        tags.extend(text.split(split).map(str::trim).filter(|t| !t.is_empty()).take(left).map(Box::from));
    }
    tags
}

/// The bytes of an answer's body as one source for a client.
pub fn source_of(body: AnswerBody) -> super::body::Source {
    use super::body::Source;
    match body {
        AnswerBody::Empty => Source::Empty,
        AnswerBody::Bytes(bytes) => Source::whole(bytes),
        AnswerBody::File { file, offset, len } => Source::File { file, offset, len },
        AnswerBody::Stream { len, frames } => Source::Stream(frames, len),
        AnswerBody::Switched(switched) => Source::Switched(switched),
    }
}

/// The announced length of an answer's body.
pub fn announced(body: &AnswerBody) -> Option<u64> {
    match body {
        AnswerBody::Empty | AnswerBody::Switched(_) => Some(0),
        AnswerBody::Bytes(bytes) => Some(Bytes::len(bytes) as u64),
        AnswerBody::File { len, .. } => Some(*len),
        AnswerBody::Stream { len, .. } => *len,
    }
}
