//! A scenario of WCAT as a plan: its transactions as rounds, its requests as bytes or forms, its clients with their servers.
//!
//! Not here: reading the files ([`crate::wcat`]); what files of theirs hold comes in as bytes.

use std::collections::BTreeMap;

use super::request::{Blank, Form, Right};
use super::target::{self, Place};
use super::{Home, Load, Plan, Request, Round, Rounds, Script, Step, Target, intern};
use crate::wcat::{self, Field, Manner, Part, Scenario, Value, Version};

/// Longest pause a scenario may ask for, ms: a day.
const PAUSE_MAX_MS: u64 = 86_400_000;

/// What a scenario does not say of itself.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// The servers that are asked, `host` or `host:port`; each client stays with one.
    pub servers: Vec<String>,
    /// What they are called in `Host`, where it is not their name.
    pub host: Option<String>,
    /// What the files that it names hold.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The name of this machine.
    pub client_name: String,
    /// How many machines send.
    pub machines: u64,
    /// The number of this one.
    pub machine: u64,
    /// Virtual clients on each.
    pub virtual_clients: u64,
}

/// The names of all files a scenario needs.
pub fn files(scenario: &Scenario) -> Vec<String> {
    let mut names = Vec::new();
    let mut look = |value: &Value| {
        names.extend(value.iter().filter_map(|part| match part {
            Part::File(name) => Some(name.clone()),
            _ => None,
        }));
    };
    for step in scenario.transactions.iter().flat_map(|transaction| &transaction.steps) {
        if let wcat::Step::Request(request) = step {
            look(&request.url);
            request.body.iter().for_each(&mut look);
            request.server.iter().for_each(&mut look);
            request.fields.iter().for_each(|field| {
                look(&field.name);
                look(&field.value);
            });
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

impl Plan {
    /// The plan of a scenario.
    ///
    /// # Errors
    /// A sentence for the person at the command line.
    pub fn of_scenario(scenario: &Scenario, setting: &Setting, load: Load) -> Result<Plan, String> {
        let mut maker = Maker { setting, plan: Plan::empty(load) };
        let mut rounds = Vec::new();
        for transaction in &scenario.transactions {
            let mut round =
                Round { name: transaction.id.clone(), weight: transaction.weight, steps: Vec::new() };
            for step in &transaction.steps {
                round.steps.push(maker.step(step).map_err(|why| format!("{}: {why}", transaction.id))?);
            }
            rounds.push(round);
        }
        let Maker { mut plan, .. } = maker;
        plan.script = Script::Rounds(Rounds::new(rounds));
        let names = if setting.servers.is_empty() { vec![String::new()] } else { setting.servers.clone() };
        plan.homes = names
            .into_iter()
            .map(|name| Home { server: without_port(&name).to_owned(), ..Home::default() })
            .collect();
        plan.load = plan.load.fitted();
        Ok(plan.with_other_schemes())
    }

    fn empty(load: Load) -> Plan {
        let script = Script::Rounds(Rounds::default());
        let (origins, homes, requests, rows) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Plan { origins, homes, requests, script, rows, load, manners: super::Manners::default() }
    }
}

struct Maker<'a> {
    setting: &'a Setting,
    plan: Plan,
}

impl Maker<'_> {
    fn step(&mut self, step: &wcat::Step) -> Result<Step, String> {
        Ok(match step {
            wcat::Step::Request(request) => {
                let index = self.plan.requests.len();
                let made = self.request(request).map_err(|why| format!("{}: {why}", request.id))?;
                self.plan.rows.push(made.url.clone());
                self.plan.requests.push(Request { row: index, ..made });
                Step::Send(index)
            }
            wcat::Step::Sleep(delay) => {
                let (low, high) = self.pause(delay)?;
                Step::Pause(low.min(PAUSE_MAX_MS) * 1_000_000, high.min(PAUSE_MAX_MS) * 1_000_000)
            }
            wcat::Step::Branch(targets) => Step::Goto(targets.clone()),
            wcat::Step::Close(manner) => Step::Close(*manner),
        })
    }

    fn pause(&self, delay: &Value) -> Result<(u64, u64), String> {
        if let [Part::Random(low, high)] = delay.as_slice() {
            return Ok((*low.min(high), *low.max(high)));
        }
        let text = wcat::constant(delay).unwrap_or_default();
        text.trim().parse().map(|ms| (ms, ms)).map_err(|_| format!("`{text}` is no delay in milliseconds"))
    }

    fn request(&mut self, request: &wcat::Request) -> Result<Request, String> {
        let (path, own) = self.place(request)?;
        let servers = match &own {
            Some(server) => vec![server.clone()],
            None if self.setting.servers.is_empty() => {
                return Err(
                    "no server is named: say it with -s, or `server = \"…\";` in the settings".to_owned()
                );
            }
            None => self.setting.servers.clone(),
        };
        let mut origins = Vec::new();
        let mut host = None;
        for server in &servers {
            let (place, authority) = reach(server, request.port, request.secure)?;
            host.get_or_insert(authority);
            origins.push(intern(&mut self.plan.origins, &place, request.secure));
        }
        let version = if request.version == Version::Http11 { "1.1" } else { "1.0" };
        if request.verb.is_empty() || super::request::method(&request.verb).is_err() {
            return Err(format!("`{}` is not a method", request.verb));
        }
        let mut head = vec![text(&format!("{} ", request.verb))];
        head.extend(self.blanks(&path, Use::Target)?);
        head.push(text(&format!(" HTTP/{version}\r\n")));
        let fields = effective(&request.fields);
        let says = |name: &str| {
            fields.iter().any(|f| wcat::constant(&f.name).is_some_and(|n| n.eq_ignore_ascii_case(name)))
        };
        if !says("Host") {
            head.push(text("Host: "));
            // Where each client has its own server, its name is put in each time.
            let said = self.setting.host.clone().filter(|_| own.is_none());
            let is_each = said.is_none() && own.is_none() && servers.len() > 1;
            match (is_each, said.or(host)) {
                (true, _) => head.push(Blank::Server),
                (false, host) => head.push(text(&host.unwrap_or_default())),
            }
            head.push(text("\r\n"));
        }
        if request.version == Version::Http11 && request.close != Manner::Keep && !says("Connection") {
            head.push(text("Connection: close\r\n"));
        }
        for field in &fields {
            head.extend(self.blanks(&field.name, Use::Name)?);
            head.push(text(": "));
            head.extend(self.blanks(&field.value, Use::Value)?);
            head.push(text("\r\n"));
        }
        let body = request.body.as_ref().map(|body| self.blanks(body, Use::Body)).transpose()?;
        let says_length = body.is_some() && !says("Content-Length") && !says("Transfer-Encoding");
        let form = Form { head: joined(head), body: joined(body.unwrap_or_default()), says_length };
        let keeps = |field: &Field| {
            let is = |value: &Value, wanted: &str| {
                wcat::constant(value).is_some_and(|text| text.to_ascii_lowercase().contains(wanted))
            };
            is(&field.name, "connection") && is(&field.value, "keep-alive")
        };
        let is_old = request.version == Version::Http10 && !fields.iter().any(keeps);
        let mut made = Request {
            url: request.id.clone(),
            method: request.verb.clone(),
            bytes: Vec::new(),
            fields_end: 0,
            form: None,
            origins,
            right: request.status.map_or(Right::Below400, Right::Only),
            cookies: request.cookies,
            follow: request.redirect,
            close: request.close,
            is_old,
            row: 0,
        };
        let is_fixed = |blanks: &[Blank]| blanks.iter().all(|blank| matches!(blank, Blank::Bytes(_)));
        if is_fixed(&form.head) && is_fixed(&form.body) {
            let hand = super::request::Hand { server: "", client: 0 };
            made.fields_end = form.fill(hand, &mut crate::dice::Dice::of(0, "", 0), &mut made.bytes);
        } else {
            made.form = Some(form);
        }
        Ok(made)
    }

    /// The path that is asked for, and the server if it is another than that of the run.
    fn place(&self, request: &wcat::Request) -> Result<(Value, Option<String>), String> {
        let own = match &request.server {
            None => None,
            Some(server) if server.iter().all(|part| *part == Part::Server) => None,
            Some(server) => {
                let name = self.constant(server).ok_or("the server must be the same each time")?;
                Some(name)
            }
        };
        // A script of WCAT 5 says whole URLs: the server of the run is asked for them, if one is named.
        let Some(Part::Text(start)) = request.url.first() else { return Ok((request.url.clone(), own)) };
        let Some((scheme, rest)) = start.split_once("://").filter(|(scheme, _)| !scheme.contains(['/', '?']))
        else {
            let slash = if start.starts_with('/') { "" } else { "/" };
            let mut path = request.url.clone();
            if let Some(Part::Text(start)) = path.first_mut() {
                start.insert_str(0, slash);
            }
            return Ok((path, own));
        };
        let (authority, tail) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let _: Target = format!("{scheme}://{authority}/").parse()?;
        let tail = if tail.starts_with('/') { tail.to_owned() } else { format!("/{tail}") };
        let mut path = request.url.clone();
        if let Some(start) = path.first_mut() {
            *start = Part::Text(tail);
        }
        let named = own.or_else(|| self.setting.servers.is_empty().then(|| authority.to_owned()));
        Ok((path, named))
    }

    /// What a value comes to, if it is the same each time.
    fn constant(&self, value: &Value) -> Option<String> {
        let mut all = Vec::new();
        for blank in self.blanks(value, Use::Value).ok()? {
            match blank {
                Blank::Bytes(bytes) => all.extend(bytes),
                _ => return None,
            }
        }
        String::from_utf8(all).ok()
    }

    fn blanks(&self, value: &Value, used: Use) -> Result<Vec<Blank>, String> {
        let setting = self.setting;
        let blanks = value.iter().map(|part| {
            Ok(match part {
                Part::Text(plain) => Blank::Bytes(used.checked(plain.as_bytes())?),
                Part::Random(low, high) => Blank::Random(*low.min(high), *low.max(high)),
                Part::Server => match setting.servers.as_slice() {
                    [] => return Err("server() is asked for, and no server is named".to_owned()),
                    [one] => text(without_port(one)),
                    _ => Blank::Server,
                },
                Part::ClientName => Blank::Bytes(used.checked(setting.client_name.as_bytes())?),
                Part::ClientCount => text(&setting.machines.max(1).to_string()),
                Part::ClientIndex => text(&setting.machine.to_string()),
                Part::VirtualClientCount => text(&setting.virtual_clients.to_string()),
                Part::VirtualClientIndex => Blank::Client,
                Part::File(name) => {
                    let bytes =
                        setting.files.get(name).ok_or_else(|| format!("the file `{name}` was not read"))?;
                    Blank::Bytes(used.checked(bytes)?)
                }
            })
        });
        blanks.collect()
    }
}

/// Where a text goes: what may not stand there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Target,
    Name,
    Value,
    Body,
}

impl Use {
    fn checked(self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        // A line feed at the end is what editors leave; it is no part of a field.
        let bytes = if self == Use::Body { bytes } else { bytes.trim_ascii_end() };
        let wrong = match self {
            Use::Body => None,
            Use::Target => bytes.iter().find(|byte| !byte.is_ascii_graphic()),
            Use::Name => bytes.iter().find(|byte| !byte.is_ascii_graphic() || **byte == b':'),
            Use::Value => bytes.iter().find(|byte| byte.is_ascii_control() && **byte != b'\t'),
        };
        match wrong {
            None => Ok(bytes.to_vec()),
            Some(byte) if self == Use::Target => {
                Err(format!("{:?} cannot stand in a URL; write %{byte:02X}", char::from(*byte)))
            }
            Some(byte) => Err(format!("{:?} cannot stand in a header field", char::from(*byte))),
        }
    }
}

/// Fields as they are sent: one that replaces stands where the first of its name stood.
fn effective(fields: &[Field]) -> Vec<Field> {
    let mut out: Vec<Field> = Vec::new();
    for field in fields {
        let is_same = |other: &Field| {
            let names = (wcat::constant(&other.name), wcat::constant(&field.name));
            matches!(names, (Some(a), Some(b)) if a.eq_ignore_ascii_case(&b))
        };
        if field.replaces
            && let Some(at) = out.iter().position(is_same)
        {
            out.retain(|other| !is_same(other));
            out.insert(at.min(out.len()), field.clone());
        } else {
            out.push(field.clone());
        }
    }
    out
}

/// Neighbours that never change, as one.
fn joined(blanks: Vec<Blank>) -> Vec<Blank> {
    let mut out: Vec<Blank> = Vec::new();
    for blank in blanks {
        match (out.last_mut(), blank) {
            (Some(Blank::Bytes(before)), Blank::Bytes(more)) => before.extend(more),
            (_, blank) => out.push(blank),
        }
    }
    out
}

fn text(text: &str) -> Blank {
    Blank::Bytes(text.as_bytes().to_vec())
}

/// `host` of `host:port`; an address in brackets stays in them.
fn without_port(server: &str) -> &str {
    match server.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !host.ends_with(':') => host,
        _ => server,
    }
}

/// Where a server is reached, and what it is called in `Host`.
fn reach(server: &str, port: Option<u16>, secure: bool) -> Result<(Place, String), String> {
    if let Some(path) = server.strip_prefix("unix:") {
        return Ok((Place::Unix(path.into()), "localhost".to_owned()));
    }
    let host = if port.is_some() { without_port(server) } else { server };
    let scheme = if secure { "https" } else { "http" };
    let url = match port {
        Some(port) => format!("{scheme}://{host}:{port}/"),
        None => format!("{scheme}://{host}/"),
    };
    let target: target::Target = url.parse().map_err(|why| format!("the server `{server}`: {why}"))?;
    Ok((target.place, target.authority))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacer::Schedule;
    use crate::wcat::{Source, gather};

    fn plan(text: &str, servers: &[&str]) -> Result<Plan, String> {
        let gathered = gather(&[Source::decode("a.ubr", text.as_bytes())])?;
        let setting = Setting {
            servers: servers.iter().map(|&s| s.to_owned()).collect(),
            host: None,
            files: [("body.txt".to_owned(), b"a=1".to_vec())].into(),
            client_name: "me".to_owned(),
            machines: 2,
            machine: 1,
            virtual_clients: 100,
        };
        let load = Load::closed(10, 1, None, Schedule::plain(10.0, 0, None, 0));
        Plan::of_scenario(&gathered.scenario, &setting, load)
    }

    fn one(request: &str, servers: &[&str]) -> Result<Plan, String> {
        plan(&format!("scenario {{ transaction {{ request {{ {request} }} }} }}"), servers)
    }

    fn sent(request: &str) -> String {
        String::from_utf8(one(request, &["h:81"]).unwrap().requests.remove(0).bytes).unwrap()
    }

    #[test]
    fn what_is_sent() {
        assert_eq!(sent("url=\"/a\";"), "GET /a HTTP/1.0\r\nHost: h:81\r\n\r\n");
        assert_eq!(
            sent("url=\"a\"; version=HTTP11; close=graceful;"),
            "GET /a HTTP/1.1\r\nHost: h:81\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(
            sent(
                "url=\"/a\"; version=HTTP11; setheader{name=\"host\"; value=server();} addheader{name=\"X\"; value=\"1\";} addheader{name=\"X\"; value=clientname()+vclientcount();}"
            ),
            "GET /a HTTP/1.1\r\nhost: h\r\nX: 1\r\nX: me100\r\n\r\n"
        );
        assert_eq!(
            sent("url=\"/a\"; verb=POST; postdata=<body.txt>;"),
            "POST /a HTTP/1.0\r\nHost: h:81\r\nContent-Length: 3\r\n\r\na=1"
        );
        let plan = one("url=\"/a?\"+rand(\"1\",\"9\");", &["h"]).unwrap();
        assert!(plan.requests[0].bytes.is_empty() && plan.requests[0].form.is_some());
    }

    #[test]
    fn where_it_goes() {
        let origins = |request: &str, servers: &[&str]| -> Vec<String> {
            one(request, servers)
                .unwrap()
                .origins
                .iter()
                .map(|o| format!("{}{}", o.name, if o.secure { " tls" } else { "" }))
                .collect()
        };
        assert_eq!(origins("url=\"/\";", &["a", "b:8080"]), ["a:80", "b:8080"]);
        assert_eq!(origins("url=\"/\"; port=90;", &["a", "b:8080"]), ["a:90", "b:90"]);
        assert_eq!(origins("url=\"/\"; secure=true;", &["a"]), ["a:443 tls"]);
        assert_eq!(origins("url=\"/\"; server=\"c\";", &["a"]), ["c:80"]);
        assert_eq!(origins("url=\"/\"; server=server();", &["a"]), ["a:80"]);
        assert_eq!(origins("url=\"/\"; redirect=true;", &["a:81"]), ["a:81", "a:80", "a:443 tls"]);
        // Whole URLs, as WCAT 5 has them: the server of the run if there is one, else their own.
        assert_eq!(origins("url=\"http://z/x\";", &["a"]), ["a:80"]);
        assert_eq!(origins("url=\"http://z:9/x\";", &[]), ["z:9"]);
        let plan = one("url=\"http://z:9/x?y\";", &[]).unwrap();
        assert_eq!(plan.requests[0].bytes, b"GET /x?y HTTP/1.0\r\nHost: z:9\r\n\r\n");
    }

    #[test]
    fn what_cannot_be_sent_is_said() {
        for (request, servers, say) in [
            ("url=\"/\";", &[][..], "no server is named"),
            ("url=\"/a b\";", &["h"], "write %20"),
            ("url=\"/\"; server=rand(\"1\",\"2\");", &["h"], "the same each time"),
            ("url=\"/\"; postdata=<other.txt>;", &["h"], "`other.txt` was not read"),
            ("url=\"/\"; setheader{name=\"a b\"; value=\"\";}", &["h"], "header field"),
            ("url=\"/\";", &["h:0"], "not a port"),
        ] {
            let error = one(request, servers).unwrap_err();
            assert!(error.contains(say), "{request}: {error}");
        }
    }
}
