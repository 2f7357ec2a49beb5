//! Members are asked whether they are well, and their names are looked up again.
//!
//! Each probe goes by a connection of its own, so that it tells whether new connections are taken, too, and never waits in
//! the queue of those it is to help. Not here: what a probe's word does to a member (`balance`).

use super::{Member, Server, Upstream};
use crate::clock;
use crate::config::{MemberPlace, ProbeSettings};
use http::{HeaderMap, HeaderValue, Method, header};
use http_body_util::BodyExt;
use samovar_origin::{
    Address, Answer, AnswerBody, Asked, Client, FastCgi, FastCgiSettings, HttpSettings, HttpUpstream, Script,
    UpstreamLimits,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// What is known of a member's probes, and lookups.
#[derive(Default)]
pub(super) struct Probing {
    under_way: AtomicBool,
    last_ms: AtomicU64,
    looking_up: AtomicBool,
    looked_up_ms: AtomicU64,
}

/// How often it is seen whether a name must be looked up again, ms.
const LOOK_UP_MS: u64 = 1_000;

impl Upstream {
    /// Begins what is due. To be called about ten times a second on one core, within its runtime.
    pub fn tend(self: &Arc<Self>) {
        let now_ms = clock::mono_ms();
        for (at, member) in self.members.iter().enumerate() {
            if member.server.is_named() && member.probing.begins_look_up(now_ms) {
                let upstream = Arc::clone(self);
                tokio::task::spawn_local(async move {
                    let Some(member) = upstream.members.get(at) else { return };
                    match &member.server {
                        Server::Http(http) => http.look_up().await,
                        Server::FastCgi(app) => app.look_up().await,
                    }
                    member.probing.looking_up.store(false, Ordering::Relaxed);
                });
            }
            let Some(probe) = &self.settings.probe else { continue };
            let every_ms = u64::try_from(probe.interval.as_millis()).unwrap_or(u64::MAX);
            if member.probing.begins_probe(now_ms, every_ms) {
                let upstream = Arc::clone(self);
                tokio::task::spawn_local(async move { upstream.probe(at).await });
            }
        }
    }

    async fn probe(&self, at: usize) {
        let (Some(member), Some(probe)) = (self.members.get(at), &self.settings.probe) else { return };
        let came =
            tokio::time::timeout(probe.timeout, member.ask_after(probe, self.settings.host.as_deref()));
        let word = match came.await {
            Ok(Ok(answer)) => {
                let status = answer.status.as_u16();
                let good = probe.statuses.iter().any(|(first, last)| (*first..=*last).contains(&status));
                if good { Ok(()) } else { Err(format!("it answered {status}")) }
            }
            Ok(Err(why)) => Err(why),
            Err(_) => Err(format!("no answer within {:?}", probe.timeout)),
        };
        let now_ms = clock::mono_ms();
        let mut balancer = self.balancer();
        let changed = balancer.probed(now_ms, at, word.is_ok());
        if changed == Some(true) {
            balancer.level_bytes(at, &|at| self.carried(at));
        }
        drop(balancer);
        let target = self.target(at);
        match (changed, word) {
            (Some(true), _) => crate::say!("samovar: upstream {target} is well again by its probes"),
            (Some(false), Err(why)) => crate::say!("samovar: upstream {target} is down by its probes: {why}"),
            _ => {}
        }
        member.probing.under_way.store(false, Ordering::Relaxed);
    }
}

impl Probing {
    fn begins_look_up(&self, now_ms: u64) -> bool {
        begins(&self.looking_up, &self.looked_up_ms, now_ms, LOOK_UP_MS)
    }

    fn begins_probe(&self, now_ms: u64, every_ms: u64) -> bool {
        begins(&self.under_way, &self.last_ms, now_ms, every_ms)
    }
}

/// Only one core tends, so that two steps need not be one.
fn begins(under_way: &AtomicBool, last_ms: &AtomicU64, now_ms: u64, every_ms: u64) -> bool {
    if now_ms.saturating_sub(last_ms.load(Ordering::Relaxed)) < every_ms
        || under_way.swap(true, Ordering::Relaxed)
    {
        return false;
    }
    last_ms.store(now_ms, Ordering::Relaxed);
    true
}

impl Member {
    /// Asks it once.
    async fn ask_after(&self, probe: &ProbeSettings, host: Option<&str>) -> Result<Answer, String> {
        let limits = UpstreamLimits {
            max_connections: 1,
            connect_timeout: probe.timeout,
            head_timeout: probe.timeout,
            body_timeout: probe.timeout,
            ..UpstreamLimits::default()
        };
        let name = "probe".to_owned();
        let MemberPlace { address, base_path } = self.place.clone();
        let host = probe.host.as_deref().or(host).map_or_else(|| shown(&address), str::to_owned);
        let (path, query) = match probe.path.split_once('?') {
            Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
            None => (probe.path.clone(), None),
        };
        let asked = asked(&path, query, host.clone());
        let came = match &self.server {
            Server::Http(_) => {
                let settings = HttpSettings { name, address, host: Some(host), base_path, limits };
                HttpUpstream::new(settings).attempt(0, asked).await
            }
            Server::FastCgi(_) => {
                let app = FastCgi::new(FastCgiSettings { name, address, limits }, Arc::new(|_: &str| {}));
                app.attempt(0, asked, by_name(path)).await
            }
        };
        came.map_err(|failure| format!("{}: {}", failure.reason, failure.detail))
    }
}

/// php-fpm answers its `ping.path` and `pm.status_path` by the script's name alone.
fn by_name(path: String) -> Script {
    Script {
        script_filename: PathBuf::from(&path),
        script_name: path,
        path_info: None,
        document_root: PathBuf::from("/"),
        params: Arc::default(),
    }
}

/// Asks a FastCGI application for one of its own pages, and waits for it: for threads that serve nobody.
///
/// # Errors
/// In words.
pub fn ask_fastcgi(place: &MemberPlace, path: &str, patience: Duration) -> Result<Vec<u8>, String> {
    /// Far more than any such page.
    const PAGE_MAX_BYTES: usize = 1 << 20;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("start a runtime: {error}"))?;
    let limits =
        UpstreamLimits { max_connections: 1, connect_timeout: patience, ..UpstreamLimits::default() };
    let settings = FastCgiSettings { name: "status".to_owned(), address: place.address.clone(), limits };
    let (bare, query) = path.split_once('?').unwrap_or((path, ""));
    let asked = asked(bare, Some(query.to_owned()), "localhost".to_owned());
    let came = async {
        let app = FastCgi::new(settings, Arc::new(|_: &str| {}));
        let answer = app.attempt(0, asked, by_name(bare.to_owned())).await.map_err(|f| f.to_string())?;
        if answer.status.as_u16() != 200 {
            return Err(format!("it answered {}", answer.status.as_u16()));
        }
        match answer.body {
            AnswerBody::Bytes(bytes) => Ok(bytes.to_vec()),
            AnswerBody::Stream { frames, .. } => {
                let limited = http_body_util::Limited::new(frames, PAGE_MAX_BYTES);
                let body = limited.collect().await.map_err(|error| error.to_string())?;
                Ok(body.to_bytes().to_vec())
            }
            AnswerBody::Empty | AnswerBody::File { .. } | AnswerBody::Switched(_) => Ok(Vec::new()),
        }
    };
    runtime.block_on(async {
        match tokio::time::timeout(patience, came).await {
            Ok(result) => result,
            Err(_) => Err(format!("no answer within {patience:?}")),
        }
    })
}

/// A GET of our own.
fn asked(path: &str, query: Option<String>, host: String) -> Asked {
    let mut headers = HeaderMap::new();
    headers.insert(header::USER_AGENT, HeaderValue::from_static("samovar-probe"));
    let client = Client { remote: None, local: None, scheme: "http", version: "HTTP/1.1" };
    Asked {
        method: Method::GET,
        path: path.to_owned(),
        query,
        host,
        headers,
        body: None,
        body_bytes: None,
        client,
        interim: None,
        client_target: None,
        upgrade: None,
    }
}

/// An address as a Host.
fn shown(address: &Address) -> String {
    match address {
        Address::Tcp(host, port) if host.contains(':') && !host.starts_with('[') => {
            format!("[{host}]:{port}")
        }
        Address::Tcp(host, port) => format!("{host}:{port}"),
        Address::Unix(_) => "localhost".to_owned(),
    }
}
