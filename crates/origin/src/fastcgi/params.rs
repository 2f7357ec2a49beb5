//! What an application is told about a request: CGI variables (RFC 3875 §4.1) as FastCGI name-value pairs.
//!
//! Pure. Lengths go before names and values, so nothing in a value can become another variable. Fields that
//! could pass for something else are left out: `Proxy` would become `HTTP_PROXY`, which many libraries take for
//! their own configuration, and underscores would let one field pass for another. Not here: records.

use super::Script;
use crate::Client;
use bytes::{BufMut, BytesMut};
use http::Method;
use http::header::{self, HeaderMap, HeaderName};
use std::os::unix::ffi::OsStrExt;

/// What the variables are made from.
pub(super) struct Told<'a> {
    pub(super) script: &'a Script,
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    pub(super) query: Option<&'a str>,
    pub(super) host: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) client: &'a Client,
    /// The body's length, bytes; `None` if there is no body.
    pub(super) body_bytes: Option<u64>,
}

/// All variables as name-value pairs. Those of the script take the place of ours.
pub(super) fn pairs(told: &Told<'_>) -> BytesMut {
    let mut pairs = Pairs { out: BytesMut::with_capacity(1024), told };
    pairs.script();
    pairs.request();
    pairs.ends();
    pairs.fields();
    for (name, value) in told.script.params.iter() {
        pair(&mut pairs.out, name.as_bytes(), value.as_bytes());
    }
    pairs.out
}

struct Pairs<'a> {
    out: BytesMut,
    told: &'a Told<'a>,
}

impl Pairs<'_> {
    fn put(&mut self, name: &str, value: impl AsRef<[u8]>) {
        if !self.told.script.params.iter().any(|(set, _)| set == name) {
            pair(&mut self.out, name.as_bytes(), value.as_ref());
        }
    }

    fn script(&mut self) {
        let script = self.told.script;
        self.put("SCRIPT_FILENAME", script.script_filename.as_os_str().as_bytes());
        self.put("SCRIPT_NAME", &script.script_name);
        self.put("DOCUMENT_ROOT", script.document_root.as_os_str().as_bytes());
        let info = script.path_info.as_deref().unwrap_or("");
        self.put("DOCUMENT_URI", format!("{}{info}", script.script_name));
        if let Some(info) = &script.path_info {
            self.put("PATH_INFO", info);
        }
        // PHP built with --enable-force-cgi-redirect runs nothing without it.
        self.put("REDIRECT_STATUS", "200");
    }

    fn request(&mut self) {
        let told = self.told;
        self.put("REQUEST_METHOD", told.method.as_str());
        match told.query {
            Some(query) => self.put("REQUEST_URI", format!("{}?{query}", told.path)),
            None => self.put("REQUEST_URI", told.path),
        }
        self.put("QUERY_STRING", told.query.unwrap_or(""));
        self.put("SERVER_PROTOCOL", told.client.version);
        self.put("GATEWAY_INTERFACE", "CGI/1.1");
        self.put("SERVER_SOFTWARE", concat!("samovar/", env!("CARGO_PKG_VERSION")));
        self.put("REQUEST_SCHEME", told.client.scheme);
        if told.client.scheme == "https" {
            self.put("HTTPS", "on");
        }
        if let Some(kind) = told.headers.get(header::CONTENT_TYPE) {
            self.put("CONTENT_TYPE", kind);
        }
        if let Some(bytes) = told.body_bytes {
            self.put("CONTENT_LENGTH", bytes.to_string());
        }
    }

    /// Both ends of the client's connection.
    fn ends(&mut self) {
        let client = self.told.client;
        match client.remote {
            Some(address) => {
                self.put("REMOTE_ADDR", address.ip().to_canonical().to_string());
                self.put("REMOTE_PORT", address.port().to_string());
            }
            // As other servers name a client without an address.
            None => self.put("REMOTE_ADDR", "unix:"),
        }
        let (name, port) = split_port(self.told.host);
        self.put("SERVER_NAME", name);
        if let Some(address) = client.local {
            self.put("SERVER_ADDR", address.ip().to_canonical().to_string());
        }
        let usual = if client.scheme == "https" { 443 } else { 80 };
        // The port the client named: what links back to us need. Our own may lie behind a proxy.
        self.put("SERVER_PORT", port.unwrap_or(usual).to_string());
    }

    /// Each request field as `HTTP_NAME`, repeated ones joined.
    fn fields(&mut self) {
        let told = self.told;
        self.put("HTTP_HOST", told.host);
        for name in told.headers.keys().filter(|name| is_told(name)) {
            let variable = format!("HTTP_{}", name.as_str().to_ascii_uppercase().replace('-', "_"));
            let mut values = told.headers.get_all(name).iter();
            let Some(first) = values.next() else { continue };
            let Some(second) = values.next() else {
                self.put(&variable, first);
                continue;
            };
            // RFC 6265 §5.4 for cookies, RFC 9110 §5.3 for lists.
            let glue: &[u8] = if name == header::COOKIE { b"; " } else { b", " };
            let all: Vec<&[u8]> = [first, second].into_iter().chain(values).map(|v| v.as_bytes()).collect();
            self.put(&variable, all.join(glue));
        }
    }
}

fn is_told(name: &HeaderName) -> bool {
    let plain = name.as_str().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let own = [header::HOST, header::CONTENT_TYPE, header::CONTENT_LENGTH];
    plain && name.as_str() != "proxy" && !own.contains(name)
}

/// `a.example:8080` in two; brackets stay with an IPv6 address, as CGI wants it (RFC 3875 §4.1.14).
fn split_port(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
            (name, port.parse().ok())
        }
        _ => (host, None),
    }
}

/// One pair: lengths in one byte, or in four with the top bit set (§3.4).
fn pair(out: &mut BytesMut, name: &[u8], value: &[u8]) {
    // A length beyond 31 bits cannot be written; heads are limited far below.
    let (Some(name_bytes), Some(value_bytes)) = (length(name), length(value)) else { return };
    for bytes in [name_bytes, value_bytes] {
        match u8::try_from(bytes) {
            Ok(short) if short < 0x80 => out.put_u8(short),
            _ => out.put_u32(bytes | 0x8000_0000),
        }
    }
    out.put_slice(name);
    out.put_slice(value);
}

fn length(text: &[u8]) -> Option<u32> {
    u32::try_from(text.len()).ok().filter(|bytes| *bytes < 0x8000_0000)
}

#[cfg(test)]
#[path = "params_tests.rs"]
mod tests;
