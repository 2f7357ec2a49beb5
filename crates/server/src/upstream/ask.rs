//! A request is sent to a member, and to another if that is worth it, until there is an answer or a reason to stop.
//!
//! Every choice and every verdict ends in the request's trace. Not here: the choices and verdicts themselves (`balance`).

use super::lent::Shelf;
use super::under_way::{UnderWay, carried};
use super::{Places, Server, Upstream};
use crate::clock;
use crate::config::HashBy;
use http::HeaderValue;
use http::header::COOKIE;
use samovar_balance::{Ask, Attempt, BodyState, Method, Reached, hash_of, route_of};
use samovar_origin::{Answer, Asked, Failure, Script};
use samovar_reason::Upstream as Reason;
use samovar_trace::{Elected, Fact};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// An answer, and how it came about.
pub struct Answered {
    /// The answer.
    pub answer: Answer,
    /// Who gave it.
    pub target: Arc<str>,
    /// The choices and failed attempts before it.
    pub before: Vec<Fact>,
    /// The cookie that keeps the client's session on this member.
    pub session: Option<HeaderValue>,
}

/// No answer, and how that came about.
pub struct Failed {
    /// Why.
    pub failure: Failure,
    /// Whose failure it is.
    pub target: Arc<str>,
    /// The choices and failed attempts before it.
    pub before: Vec<Fact>,
}

/// What is known of a request from its head alone.
struct Wanted {
    route: Option<String>,
    key: u64,
    idempotent: bool,
    secure: bool,
}

impl Upstream {
    /// Asks one member after the other. `core` is the serving core's number.
    ///
    /// # Errors
    /// No member answered.
    pub async fn ask(
        self: &Arc<Self>,
        core: usize,
        asked: &mut Asked,
        script: Option<&Script>,
        places: Places,
    ) -> Result<Answered, Box<Failed>> {
        self.ask_members(core, asked, script, places).await.map_err(|mut failed| {
            let failure = &mut failed.failure;
            if matches!(failure.reason, Reason::QueueFull | Reason::QueueTimeout) {
                failure.detail = format!("{}; {}", failure.detail, self.line_to_change());
            }
            failed
        })
    }

    async fn ask_members(
        self: &Arc<Self>,
        core: usize,
        asked: &mut Asked,
        script: Option<&Script>,
        mut places: Places,
    ) -> Result<Answered, Box<Failed>> {
        if let Some(gate) = &self.gate {
            let entered = gate.enter().await.map_err(|(reason, detail)| {
                let failure = Failure { reason, detail, reached: samovar_origin::Reached::NotSent };
                Box::new(Failed { failure, target: self.settings.name.as_str().into(), before: Vec::new() })
            })?;
            places.upstream = Some(entered);
        }
        let several = self.members.len() > 1;
        let wanted = if several { self.wanted(asked) } else { Wanted::nothing() };
        let shelf = (several && asked.body.is_some()).then(Shelf::default);
        if let Some(shelf) = &shelf {
            shelf.put(asked.body.take());
        }
        let mut before = Vec::new();
        let mut tried: Vec<usize> = Vec::new();
        loop {
            let member = match self.elect(&wanted, &tried, &mut before) {
                Ok(member) => member,
                Err(failure) => {
                    return Err(Box::new(Failed {
                        failure,
                        target: self.settings.name.as_str().into(),
                        before,
                    }));
                }
            };
            let mut under_way = UnderWay::new(self, member, places);
            tried.push(member);
            let Some(server) = self.members.get(member).map(|m| &m.server) else {
                let failure = nobody("the member is gone".to_owned());
                return Err(Box::new(Failed { failure, target: self.target(member), before }));
            };
            if let Some(shelf) = &shelf {
                asked.body = shelf.lend();
            }
            let came = server.attempt(core, asked, script).await;
            let how = match &came {
                Ok(answer) => self.well(answer),
                Err(failure) => Err(Attempt::Failed(failure.reason, reached(failure))),
            };
            under_way.heard(how);
            let again = match how {
                Err(attempt) if several => {
                    let body = match &shelf {
                        Some(shelf) if !shelf.has_it() => BodyState::Taken,
                        _ => BodyState::Whole,
                    };
                    let now_ms = clock::mono_ms();
                    let verdict = self.balancer().verdict(now_ms, &tried, attempt, wanted.idempotent, body);
                    before.push(Fact::Retry(verdict.why, self.tried(member, attempt, &came)));
                    verdict.again
                }
                _ => false,
            };
            if again {
                // The answer that is not used goes before its member is free.
                drop(came);
                places = under_way.give_up();
                continue;
            }
            let target = self.target(member);
            return match came {
                Ok(answer) => {
                    let answer = Answer { body: carried(answer.body, under_way), ..answer };
                    let session = self.session(member, &wanted);
                    Ok(Answered { answer, target, before, session })
                }
                Err(failure) => Err(Box::new(Failed { failure, target, before })),
            };
        }
    }

    fn wanted(&self, asked: &Asked) -> Wanted {
        let settings = &self.settings;
        let route = settings.sticky.as_ref().and_then(|sticky| {
            let cookies = asked.headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
            let balancer = self.balancer();
            let is_one = |route: &str| balancer.settings().members.iter().any(|m| m.route == route);
            route_of(sticky, &asked.path, asked.query.as_deref(), cookies, is_one).map(str::to_owned)
        });
        let method = self.balancer().settings().method;
        let key = if method == Method::Hash { hash_of(&self.key(asked)) } else { 0 };
        Wanted {
            route,
            key,
            idempotent: asked.method.is_idempotent(),
            secure: asked.client.scheme == "https",
        }
    }

    /// What of the request is hashed; what it lacks is empty.
    fn key(&self, asked: &Asked) -> Vec<u8> {
        let path = asked.path.as_bytes();
        let query = asked.query.as_deref();
        match &self.settings.hash_by {
            HashBy::Path => path.to_vec(),
            HashBy::Url => match query {
                Some(query) => [path, b"?", query.as_bytes()].concat(),
                None => path.to_vec(),
            },
            HashBy::Part(by) => {
                by.value(asked.client.remote.map(|address| address.ip()), query, &asked.headers)
            }
        }
    }

    fn elect(&self, wanted: &Wanted, tried: &[usize], before: &mut Vec<Fact>) -> Result<usize, Failure> {
        let now_ms = clock::mono_ms();
        let ask = Ask {
            route: wanted.route.as_deref(),
            key: wanted.key,
            dice: self.roll(),
            tried,
            bytes: &|at| self.carried(at),
        };
        let mut balancer = self.balancer();
        let choice = balancer.elect(now_ms, &ask);
        let name =
            |at: usize| balancer.settings().members.get(at).map_or("?", |m| m.name.as_str()).to_owned();
        match choice {
            Ok(choice) => {
                if self.members.len() > 1 {
                    let passed = choice.passed_over.iter().map(|(at, why)| (name(*at), *why)).collect();
                    let elected = Elected {
                        upstream: self.settings.name.clone(),
                        member: name(choice.member),
                        busy: choice.busy,
                        passed_over: passed,
                    };
                    before.push(Fact::Elected(choice.why, Box::new(elected)));
                }
                Ok(choice.member)
            }
            Err(none) => {
                let each = none.passed_over.iter().map(|(at, why)| format!("{}: {why}", name(*at)));
                Err(nobody(each.collect::<Vec<_>>().join(", ")))
            }
        }
    }

    /// Whether an answer is one, or its status is a failure by what the operator says.
    fn well(&self, answer: &Answer) -> Result<u64, Attempt> {
        let status = answer.status.as_u16();
        if self.settings.balance.retries.on.status.contains(&status) {
            return Err(Attempt::Status(status));
        }
        Ok(answer.timing.connect_us.saturating_add(answer.timing.first_byte_us))
    }

    fn tried(&self, member: usize, attempt: Attempt, came: &Result<Answer, Failure>) -> String {
        let target = self.target(member);
        match (attempt, came) {
            (Attempt::Status(status), _) => format!("{target} answered {status}"),
            (_, Err(failure)) => format!("{target}: {}: {}", failure.reason, failure.detail),
            (Attempt::Failed(why, _), Ok(_)) => format!("{target}: {why}"),
        }
    }

    /// The cookie for a client whose session is not on this member yet.
    fn session(&self, member: usize, wanted: &Wanted) -> Option<HeaderValue> {
        let sticky = self.settings.sticky.as_ref().filter(|sticky| sticky.set)?;
        let balancer = self.balancer();
        let route = &balancer.settings().members.get(member)?.route;
        if route.is_empty() || wanted.route.as_deref() == Some(route) {
            return None;
        }
        let secure = if wanted.secure { "; Secure" } else { "" };
        let (cookie, separator, path) = (&sticky.cookie, sticky.separator, &sticky.path);
        let text = format!("{cookie}={separator}{route}; Path={path}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::try_from(text).ok()
    }

    /// A random number: a counter, well stirred (splitmix64).
    fn roll(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut x = self.dice.fetch_add(STEP, Ordering::Relaxed);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}

impl Wanted {
    /// Where there is one member, nothing needs to be known.
    fn nothing() -> Wanted {
        Wanted { route: None, key: 0, idempotent: false, secure: false }
    }
}

impl Server {
    async fn attempt(
        &self,
        core: usize,
        asked: &mut Asked,
        script: Option<&Script>,
    ) -> Result<Answer, Failure> {
        match (self, script) {
            (Server::Http(upstream), _) => upstream.attempt_of(core, asked).await,
            (Server::FastCgi(app), Some(script)) => Box::pin(app.attempt_of(core, asked, script)).await,
            // The configuration was checked when it was lowered; an answer is still better than a panic.
            (Server::FastCgi(_), None) => Err(nobody("no script was named".to_owned())),
        }
    }
}

fn nobody(detail: String) -> Failure {
    Failure { reason: Reason::NoMember, detail, reached: samovar_origin::Reached::NotSent }
}

fn reached(failure: &Failure) -> Reached {
    match failure.reached {
        samovar_origin::Reached::NotSent => Reached::NotSent,
        samovar_origin::Reached::Sent => Reached::Sent,
        samovar_origin::Reached::Answered => Reached::Answered,
    }
}
