//! Pages of our own: errors and refusals, as HTML, JSON or plain text by Accept.
//!
//! Those who may see it (loopback clients, or by setting) are told what happened and which setting would mend
//! it; others get a short page with an id that `samovar trace ID` resolves.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};

/// What a page says.
#[derive(Clone, Debug)]
pub struct Page {
    /// Status.
    pub status: StatusCode,
    /// The reason's code.
    pub code: &'static str,
    /// The reason's text.
    pub text: &'static str,
    /// What would mend it.
    pub mend: &'static str,
    /// The particulars: a path, the system's words.
    pub detail: String,
}

/// The page's fields and body. `open` decides whether it says more than the id.
pub fn render(page: &Page, request: &HeaderMap, id: u64, open: bool) -> (HeaderMap, Bytes) {
    let wanted = wanted(request);
    let body = match wanted {
        Form::Html => html(page, id, open),
        Form::Json => json(page, id, open),
        Form::Text => text(page, id, open),
    };
    let mut headers = HeaderMap::with_capacity(5);
    let media = match wanted {
        Form::Html => "text/html; charset=utf-8",
        Form::Json => "application/json",
        Form::Text => "text/plain; charset=utf-8",
    };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    // An error of ours must not outlive its cause in a cache downstream.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    // It may repeat the path, which the client chose: no browser is to take it for something else.
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    (headers, Bytes::from(body))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Html,
    Json,
    Text,
}

fn wanted(request: &HeaderMap) -> Form {
    let accept = request.get(header::ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or("");
    // The first of the three that is named wins; a browser names HTML first, a script names JSON or nothing.
    let named = accept.split(',').map(|part| part.split(';').next().unwrap_or("").trim());
    for media in named {
        match media {
            "text/html" | "application/xhtml+xml" => return Form::Html,
            "application/json" => return Form::Json,
            "text/plain" => return Form::Text,
            _ => {}
        }
    }
    Form::Text
}

fn title(status: StatusCode) -> String {
    format!("{} {}", status.as_u16(), status.canonical_reason().unwrap_or("Error"))
}

fn html(page: &Page, id: u64, open: bool) -> String {
    let title = title(page.status);
    let mut more = String::new();
    if open {
        more.push_str(&format!("<p>{}.</p>", escape(&sentence(page.text))));
        if !page.detail.is_empty() {
            more.push_str(&format!("<pre>{}</pre>", escape(&page.detail)));
        }
        if !page.mend.is_empty() {
            more.push_str(&format!("<p><b>To mend it:</b> {}</p>", escape(page.mend)));
        }
    }
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head>\
         <body><main><h1>{title}</h1>{more}<p class=\"id\">{} · request <code>{id:016x}</code></p></main></body></html>\n",
        escape(page.code)
    )
}

const STYLE: &str = ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0;display:grid;\
    min-height:90vh;place-items:center}main{max-width:42rem;padding:2rem}h1{font-weight:600;margin:0 0 .5rem}\
    pre{white-space:pre-wrap;padding:.75rem 1rem;border:1px solid #8884;border-radius:.5rem}\
    .id{color:#888;font-size:.85rem}";

fn json(page: &Page, id: u64, open: bool) -> String {
    let mut value = serde_json::json!({
        "status": page.status.as_u16(),
        "reason": page.code,
        "id": format!("{id:016x}"),
    });
    if open && let Some(map) = value.as_object_mut() {
        map.insert("text".into(), page.text.into());
        map.insert("detail".into(), page.detail.clone().into());
        map.insert("mend".into(), page.mend.into());
    }
    let mut text = value.to_string();
    text.push('\n');
    text
}

fn text(page: &Page, id: u64, open: bool) -> String {
    let mut out = format!("{}\n", title(page.status));
    if open {
        out.push_str(&format!("{}.\n", sentence(page.text)));
        if !page.detail.is_empty() {
            out.push_str(&format!("  {}\n", page.detail.replace('\n', "\n  ")));
        }
        if !page.mend.is_empty() {
            out.push_str(&format!("To mend it: {}\n", page.mend));
        }
    }
    out.push_str(&format!("{} · request {id:016x}\n", page.code));
    out
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + chars.as_str())
}

/// Text for HTML.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        Page {
            status: StatusCode::BAD_GATEWAY,
            code: "upstream-refused",
            text: "the upstream refused the connection",
            mend: "is it running?",
            detail: "connect to <127.0.0.1:9>".into(),
        }
    }

    fn body(accept: Option<&'static str>, open: bool) -> String {
        let mut request = HeaderMap::new();
        if let Some(accept) = accept {
            request.insert(header::ACCEPT, HeaderValue::from_static(accept));
        }
        String::from_utf8(render(&page(), &request, 0xab, open).1.to_vec()).unwrap()
    }

    #[test]
    fn detail_is_for_those_who_may_see_it() {
        for accept in [None, Some("text/html"), Some("application/json")] {
            let closed = body(accept, false);
            assert!(!closed.contains("127.0.0.1") && !closed.contains("running"), "{closed}");
            assert!(closed.contains("00000000000000ab") && closed.contains("upstream-refused"), "{closed}");
            let open = body(accept, true);
            assert!(open.contains("127.0.0.1:9") && open.contains("is it running?"), "{open}");
        }
    }

    #[test]
    fn what_comes_from_outside_is_escaped() {
        assert!(body(Some("text/html"), true).contains("&lt;127.0.0.1:9&gt;"));
        assert!(
            serde_json::from_str::<serde_json::Value>(&body(Some("application/json, */*"), true)).is_ok()
        );
    }
}
