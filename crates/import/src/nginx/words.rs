//! Directives that hold for the whole server wherever they stand, and those with no counterpart, each with its reason.

use super::{Conf, location};
use crate::note::{Consequence, Fate};
use crate::spell;
use crate::tree::Directive;
use crate::wanted::Value;

/// A zone that others name.
pub(super) fn is_zone(d: &Directive) -> bool {
    ["limit_req_zone", "limit_conn_zone"].contains(&d.name.as_str()) || d.name.ends_with("_cache_path")
}

/// What in a fragment stands around servers.
pub(super) fn is_of_http(d: &Directive) -> bool {
    d.name == "log_format"
        || d.name.starts_with("gzip")
        || d.name == "keepalive_timeout"
        || d.name == "default_type"
}

pub(super) fn zone(d: &Directive, conf: &mut Conf<'_, '_>) {
    if d.name.ends_with("_cache_path") {
        let parameter = |name: &str| d.args.iter().find_map(|a| a.strip_prefix(name));
        let size =
            parameter("max_size=").map_or_else(String::new, |size| format!(" (it was {size} of disk)"));
        let unused = parameter("inactive=").unwrap_or("10m");
        let text = format!(
            "there is no disk tier yet; memory stands for it: [memory] size{size}. What nobody asks for is removed when memory \
             is needed, not after {unused}, and a restart empties it"
        );
        conf.cached(d, text);
    } else {
        conf.carried(d, "rate or limits, where the zone is used");
    }
}

/// A page of nginx's own.
pub(super) fn is_page(inner: &[Directive]) -> bool {
    inner
        .iter()
        .any(|d| ["stub_status", "status", "api", "upstream_conf", "dashboard"].contains(&d.name.as_str()))
}

pub(super) fn whole(d: &Directive, conf: &mut Conf<'_, '_>) {
    let time = || spell::nginx_time(d.arg(0)).filter(|ms| *ms > 0);
    let limit = |key: &'static str, value: Option<Value>, conf: &mut Conf<'_, '_>| match value {
        Some(value) => location::limit(d, key, value, conf),
        None => conf.left(d, "the value cannot be read; Samovar's default holds"),
    };
    match d.name.as_str() {
        "client_max_body_size" => match spell::nginx_size(d.arg(0)) {
            // One bound holds for all: the largest that any place allows.
            Some(bytes) => {
                let known = match conf.draft.wanted.limits.get("body_max_bytes") {
                    Some(Value::Text(text)) if text == "unlimited" => u64::MAX,
                    Some(Value::Text(text)) => size_of(text),
                    _ => 0,
                };
                let bytes = if bytes == 0 { u64::MAX } else { bytes };
                let value = match bytes.max(known) {
                    u64::MAX => Value::text("unlimited"),
                    most => Value::size(most),
                };
                location::limit(d, "body_max_bytes", value, conf);
            }
            None => conf.left(d, "this is no size; Samovar's default holds"),
        },
        "keepalive_timeout" => limit("idle_timeout", time().map(Value::duration), conf),
        "client_header_timeout" => limit("head_timeout", time().map(Value::duration), conf),
        "client_body_timeout" => limit("body_timeout", time().map(Value::duration), conf),
        "send_timeout" => limit("send_timeout", time().map(Value::duration), conf),
        "keepalive_requests" => {
            let number = d.arg(0).parse::<u64>().ok().filter(|n| (1..=1_000_000_000).contains(n));
            limit("requests_per_connection", number.map(Value::Int), conf);
        }
        "access_log" => {
            let path = d.arg(0);
            if path.starts_with('/') && !path.contains('$') && conf.draft.wanted.log.is_empty() {
                let entry = conf.draft.wanted.log.set("access", Value::text(path), &d.place);
                entry.off = true;
                entry.remark =
                    "a file of its own is better; by default the log goes to standard error".to_owned();
            }
            conf.left(
                d,
                "Samovar writes one log for all sites: [log] access = \"FILE\" or \"off\", format = \"combined\" or \"json\"",
            );
        }
        "set_real_ip_from" => {
            match spell::network(d.arg(0)).or_else(|| (d.arg(0) == "unix:").then(|| "unix".to_owned())) {
                Some(network) => {
                    conf.draft.wanted.server.add("trusted_proxies", Value::Text(network), &d.place);
                    conf.carried(d, "[server] trusted_proxies");
                }
                None => conf.left(d, "this is no address; it is left out"),
            }
        }
        "real_ip_header" if d.arg(0).eq_ignore_ascii_case("X-Forwarded-For") => {
            conf.carried(d, "Samovar believes what trusted_proxies say of their clients");
        }
        "real_ip_header" if d.arg(0) == "proxy_protocol" => {
            if let Some(peers) = conf.draft.wanted.server.get("trusted_proxies").cloned() {
                conf.draft.wanted.server.set("proxy_protocol", peers, &d.place);
            }
            conf.carried(d, "[server] proxy_protocol, of those that set_real_ip_from names");
        }
        "real_ip_recursive" => conf.carried(d, "Samovar always does so"),
        "include" if d.arg(0).contains("modules") => conf.left(d, "Samovar has no modules"),
        "include" if d.arg(0).contains(['*', '?', '[']) => {
            conf.breaks(d, "no file here has such a name: that is fine if nginx found none either, else import where all files are, or name their folder with --root");
        }
        "include" => conf.carried(d, "Samovar knows by itself what it lists"),
        "proxy_redirect" if d.arg(0) == "default" => conf.carried(d, "map_location, which is on by default"),
        "if" if !super::guards::is_condition(d) => {
            let acts = d.inside().iter().any(|i| i.name == "return" || i.name == "rewrite");
            let text = "Samovar has no conditions: what it redirected, rewrote or changed comes through as it is. Write a rule, or a \
                        site of its own for the host or port that it asks for";
            match acts {
                true => conf.breaks(d, text),
                false => conf.left(d, text),
            }
        }
        "if" => {}
        "rewrite" => {
            conf.breaks(d, "expressions of rewrites are not read: write `rewrite` or `redirect` into a rule")
        }
        "content_by_lua" | "content_by_lua_block" | "content_by_lua_file" | "perl" | "js_content" => {}
        "set" | "map" | "perl_set" | "js_set" => {
            conf.left(d, "Samovar has no variables; a directive that used this one is listed where it stands")
        }
        "sub_filter" | "sub_filter_once" | "sub_filter_types" | "ssi" | "addition_types"
        | "add_after_body" => {
            conf.breaks(d, "Samovar passes bodies on unchanged: let the application change them");
        }
        _ => other(d, conf),
    }
}

/// Told at last: all that has no counterpart, unless a room of its own tells of it.
fn other(d: &Directive, conf: &mut Conf<'_, '_>) {
    if is_told_elsewhere(&d.name) {
        return;
    }
    if let Some(why) = of_caches(d) {
        return conf.cached(d, why);
    }
    let why = reason(d).unwrap_or(
        "this importer does not know the directive: look up what it does, and whether you need it",
    );
    conf.note_as(d, (Fate::LeftOut, missed(&d.name)), why);
}

/// Why a directive has no counterpart, or needs none.
fn reason(d: &Directive) -> Option<&'static str> {
    Some(match d.name.as_str() {
        "sendfile"
        | "tcp_nopush"
        | "tcp_nodelay"
        | "aio"
        | "directio"
        | "output_buffers"
        | "postpone_output"
        | "sendfile_max_chunk"
        | "reset_timedout_connection"
        | "types_hash_max_size"
        | "types_hash_bucket_size"
        | "server_names_hash_bucket_size"
        | "server_names_hash_max_size"
        | "variables_hash_max_size"
        | "map_hash_bucket_size"
        | "client_body_buffer_size"
        | "client_header_buffer_size"
        | "read_ahead" => "Samovar sizes buffers and chooses system calls itself",
        "open_file_cache"
        | "open_file_cache_valid"
        | "open_file_cache_min_uses"
        | "open_file_cache_errors" => "Samovar notices a changed file at once",
        "large_client_header_buffers" => {
            "lines and heads are bounded by `[limits] line_max_bytes` and `head_max_bytes`"
        }
        "server_tokens" => "Samovar names itself on no page",
        "error_log" | "log_format" | "log_not_found" | "log_subrequest" | "rewrite_log" => LOGS,
        "resolver" | "resolver_timeout" => {
            "names are resolved as the system does; `resolve_every` of an upstream says how often"
        }
        "ssl_protocols"
        | "ssl_ciphers"
        | "ssl_prefer_server_ciphers"
        | "ssl_session_cache"
        | "ssl_session_timeout"
        | "ssl_session_tickets"
        | "ssl_stapling"
        | "ssl_stapling_verify"
        | "ssl_dhparam"
        | "ssl_ecdh_curve"
        | "ssl_trusted_certificate"
        | "ssl_buffer_size"
        | "ssl"
        | "http2"
        | "http3" => {
            "Samovar speaks TLS 1.2 and 1.3 with ciphers that are held good, and HTTP/1.1: docs/tls.md"
        }
        "ssl_client_certificate" | "ssl_crl" | "ssl_verify_depth" => {
            "Samovar asks no client for a certificate"
        }
        "default_type" | "charset" | "charset_types" | "override_charset" => {
            "Samovar knows the usual media types; `types` of a site adds some"
        }
        "limit_rate" | "limit_rate_after" => "Samovar does not slow a response down",
        "limit_req_status"
        | "limit_conn_status"
        | "limit_req_log_level"
        | "limit_conn_log_level"
        | "limit_req_dry_run" => "a request too many gets 429, and 503 where a queue is full",
        "gzip_vary" | "gzip_proxied" | "gzip_disable" | "gzip_http_version" | "gzip_buffers"
        | "gzip_window" | "gzip_static" | "brotli_static" | "gunzip" | "brotli_buffers" | "brotli_window" => {
            "Samovar sets Vary itself, and the client's Accept-Encoding decides: `compress`"
        }
        "proxy_http_version" | "proxy_socket_keepalive" | "fastcgi_keep_conn" => {
            "Samovar speaks HTTP/1.1 with upstreams and keeps connections open"
        }
        "proxy_buffers"
        | "proxy_buffer_size"
        | "proxy_busy_buffers_size"
        | "proxy_request_buffering"
        | "proxy_max_temp_file_size"
        | "proxy_temp_path"
        | "proxy_temp_file_write_size"
        | "fastcgi_buffers"
        | "fastcgi_buffer_size"
        | "fastcgi_busy_buffers_size"
        | "fastcgi_temp_path"
        | "fastcgi_max_temp_file_size"
        | "client_body_temp_path"
        | "client_body_in_file_only" => "Samovar passes bodies on as they come, in both directions",
        "proxy_intercept_errors" | "fastcgi_intercept_errors" => {
            "`error_pages` holds for errors of the origin too"
        }
        "proxy_redirect" | "proxy_cookie_path" | "proxy_cookie_domain" | "proxy_cookie_flags" => {
            "Samovar maps Location itself (map_location); for cookies write map_cookie_path or map_cookie_domain"
        }
        "proxy_ssl_server_name"
        | "proxy_ssl_verify"
        | "proxy_ssl_name"
        | "proxy_ssl_protocols"
        | "proxy_ssl_certificate"
        | "proxy_ssl_certificate_key"
        | "proxy_ssl_trusted_certificate"
        | "proxy_ssl_session_reuse" => "Samovar does not speak TLS with upstreams yet",
        "fastcgi_split_path_info" => "Samovar always passes the path behind a script's name (PATH_INFO)",
        "proxy_pass_request_headers"
        | "proxy_pass_request_body"
        | "proxy_pass_header"
        | "fastcgi_pass_header"
        | "proxy_ignore_client_abort"
        | "proxy_bind"
        | "proxy_method"
        | "proxy_set_body" => "Samovar has no counterpart",
        "merge_slashes"
        | "absolute_redirect"
        | "port_in_redirect"
        | "server_name_in_redirect"
        | "max_ranges"
        | "recursive_error_pages"
        | "underscores_in_headers"
        | "ignore_invalid_headers"
        | "chunked_transfer_encoding" => "Samovar does as RFC 9110 and RFC 9112 say; there is nothing to set",
        "etag" if d.arg(0) == "on" => "Samovar does so by default",
        "if_modified_since" if d.arg(0) == "exact" => "Samovar compares as RFC 9110 says",
        "autoindex_exact_size" | "autoindex_localtime" | "autoindex_format" => {
            "Samovar lists folders in one way only"
        }
        name if name.contains("lua") || name.starts_with("js_") || name.starts_with("perl") => {
            "Samovar runs no scripts: put them into an application behind HTTP or FastCGI"
        }
        _ => return None,
    })
}

/// What it means for the site that a directive of this name has no counterpart.
fn missed(name: &str) -> Consequence {
    const SHOWS: [&str; 10] = [
        "proxy_redirect",
        "proxy_cookie_path",
        "proxy_cookie_domain",
        "proxy_cookie_flags",
        "proxy_pass_request_headers",
        "proxy_pass_request_body",
        "proxy_method",
        "proxy_set_body",
        "merge_slashes",
        "recursive_error_pages",
    ];
    match name {
        name if SHOWS.contains(&name) => Consequence::BreaksSite,
        "limit_rate" | "limit_rate_after" | "ssl_client_certificate" | "ssl_crl" => Consequence::LessSafe,
        _ => Consequence::Nothing,
    }
}

/// Directives of nginx's main context, and of `events`.
pub(super) fn of_main(name: &str) -> Option<&'static str> {
    Some(match name {
        "error_log" => LOGS,
        "user"
        | "pid"
        | "daemon"
        | "master_process"
        | "load_module"
        | "worker_rlimit_nofile"
        | "worker_rlimit_core"
        | "worker_cpu_affinity"
        | "worker_priority"
        | "worker_shutdown_timeout"
        | "env"
        | "working_directory"
        | "lock_file"
        | "timer_resolution"
        | "thread_pool" => "systemd, or the container that starts Samovar, decides it",
        "pcre_jit" | "ssl_engine" | "debug_points" | "ssl_object_cache_inheritable" => {
            "it is about nginx's own program; Samovar needs none of it"
        }
        "worker_connections"
        | "use"
        | "multi_accept"
        | "accept_mutex"
        | "accept_mutex_delay"
        | "worker_aio_requests"
        | "debug_connection" => {
            "one thread per core serves all connections; `[limits] connections_max` bounds their number"
        }
        _ => return None,
    })
}

/// Whether nginx takes a directive of this name inside of `http`.
pub(super) fn is_known(d: &Directive) -> bool {
    is_told_elsewhere(&d.name) || of_caches(d).is_some() || is_of_http(d) || is_zone(d) || reason(d).is_some()
}

const LOGS: &str =
    "`samovar trace` and `samovar explain` show what Samovar decides; errors go to standard error";

/// What caches, and clients that revalidate, go by.
fn of_caches(d: &Directive) -> Option<&'static str> {
    Some(match (d.name.as_str(), d.arg(0)) {
        ("etag", "off") => "files have an ETag; clients and caches revalidate by it",
        ("if_modified_since", "off" | "before") => {
            "a request with If-Modified-Since gets 304 as RFC 9110 says: the time is compared, and an ETag goes before it"
        }
        ("slice", size) if size != "0" => {
            "a file is stored whole, and ranges are cut out of it; `max_bytes` bounds what is stored"
        }
        (name, _)
            if name.starts_with("srcache") || name.contains("cache") && !name.starts_with("open_file") =>
        {
            if name.starts_with("ssl_") {
                return None;
            }
            "this importer does not know the directive: look up what it changes about what is stored, and for how long"
        }
        _ => return None,
    })
}

/// Whether the room of a location, the cache, an upstream or a guard tells of it.
fn is_told_elsewhere(name: &str) -> bool {
    const ELSEWHERE: [&str; 61] = [
        "location",
        "server",
        "listen",
        "server_name",
        "ssl_certificate",
        "ssl_certificate_key",
        "root",
        "alias",
        "index",
        "autoindex",
        "disable_symlinks",
        "types",
        "try_files",
        "return",
        "add_header",
        "proxy_set_header",
        "proxy_hide_header",
        "fastcgi_hide_header",
        "expires",
        "gzip",
        "brotli",
        "gzip_types",
        "brotli_types",
        "gzip_min_length",
        "brotli_min_length",
        "gzip_comp_level",
        "brotli_comp_level",
        "error_page",
        "proxy_pass",
        "fastcgi_pass",
        "uwsgi_pass",
        "scgi_pass",
        "grpc_pass",
        "memcached_pass",
        "fastcgi_param",
        "fastcgi_index",
        "allow",
        "deny",
        "satisfy",
        "auth_basic",
        "auth_basic_user_file",
        "auth_request",
        "auth_jwt",
        "secure_link",
        "secure_link_md5",
        "internal",
        "limit_req",
        "limit_conn",
        "upstream",
        "secure_link_secret",
        "limit_except",
        "ssl_verify_client",
        "js_access",
        "auth_digest",
        "auth_ldap",
        "auth_pam",
        "auth_gss",
        "auth_spnego",
        "auth_token",
        "auth_radius",
        "if",
    ];
    let bare = name.strip_prefix("proxy_").or_else(|| name.strip_prefix("fastcgi_"));
    let of_cache = super::cache::is_of_cache(name);
    let of_upstream = bare.is_some_and(|b| b.ends_with("_timeout") || b.starts_with("next_upstream"));
    ELSEWHERE.contains(&name) || of_cache || of_upstream || name.starts_with("access_by_lua")
}

/// A size of our own spelling, in bytes.
fn size_of(text: &str) -> u64 {
    let (number, unit) = text.split_once(' ').unwrap_or((text, "B"));
    let size = match unit {
        "GiB" => 1u64 << 30,
        "MiB" => 1 << 20,
        "KiB" => 1 << 10,
        _ => 1,
    };
    number.parse::<u64>().unwrap_or(0).saturating_mul(size)
}
