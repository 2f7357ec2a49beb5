//! Directives of httpd with no counterpart, each with its reason, and its own pages.

use crate::note::Fate;

pub(super) fn is_page(handler: &str) -> bool {
    ["balancer-manager", "server-status", "server-info", "ldap-status", "perl-status"].contains(&handler)
}

pub(super) fn own_page(handler: &str) -> &'static str {
    match handler {
        "balancer-manager" => {
            "members are seen and changed by `samovar upstream list|set|drain|enable`, at an address of its own ([server] admin)"
        }
        _ => {
            "`samovar status`, `samovar limits` and /metrics say it, at an address of its own ([server] admin)"
        }
    }
}

/// Directives with no counterpart, and why.
pub(super) fn why_not(name: &str) -> (Fate, &'static str) {
    let left = |why| (Fate::LeftOut, why);
    match name {
        "rewriteengine" => left("each rule is noted where it stands"),
        "rewriterule" | "rewritecond" | "rewritemap" | "rewritebase" | "rewriteoptions" | "redirectmatch"
        | "aliasmatch" => {
            left("expressions of rewrites are not read: write `rewrite` or `redirect` into a rule")
        }
        "enablemmap" | "enablesendfile" | "win32disableacceptex" | "acceptfilter" => {
            left("it works around the system that httpd ran on; Samovar needs none")
        }
        "startservers"
        | "minspareservers"
        | "maxspareservers"
        | "minsparethreads"
        | "maxsparethreads"
        | "threadsperchild"
        | "maxrequestworkers"
        | "maxclients"
        | "serverlimit"
        | "threadlimit"
        | "maxconnectionsperchild"
        | "maxrequestsperchild" => {
            left("one thread per core serves all connections; `[limits] connections_max` bounds their number")
        }
        "errorlog" | "loglevel" | "logformat" | "extendedstatus" => left(
            "`samovar trace` and `samovar explain` show what Samovar decides; errors go to standard error",
        ),
        "serveradmin" | "servertokens" | "serversignature" | "usecanonicalname" | "hostnamelookups" => {
            left("Samovar names neither itself nor people on its pages")
        }
        "user" | "group" | "pidfile" | "lockfile" | "scoreboardfile" | "mutex" | "serverroot" => {
            left("systemd, or the container that starts Samovar, decides it")
        }
        "allowoverridelist" | "accessfilename" => {
            left("Samovar reads no .htaccess; everything stands in one file")
        }
        "timeout" => left("Samovar has a limit for each wait: `[limits]`, `[[upstream]]`"),
        "keepalive" => left("Samovar keeps connections open"),
        "namevirtualhost" => left("Samovar always tells sites apart by name"),
        "typesconfig"
        | "defaulttype"
        | "addhandler"
        | "addencoding"
        | "addcharset"
        | "adddefaultcharset"
        | "addicon"
        | "addiconbytype"
        | "addiconbyencoding"
        | "defaulticon"
        | "readmename"
        | "headername"
        | "indexignore"
        | "indexoptions"
        | "addlanguage"
        | "languagepriority"
        | "forcelanguagepriority"
        | "mimemagicfile" => left(
            "Samovar knows the usual media types (`types` of a site adds some), and lists folders in one way only",
        ),
        "scriptalias" | "scriptsock" | "action" => {
            left("Samovar runs no CGI programs; put the application behind FastCGI or HTTP")
        }
        "unsetenv" => left("Samovar has no variables of requests"),
        "sslprotocol"
        | "sslciphersuite"
        | "sslhonorcipherorder"
        | "sslsessioncache"
        | "sslsessiontickets"
        | "sslusestapling"
        | "sslstaplingcache" => {
            left("Samovar speaks TLS 1.2 and 1.3 with ciphers that are held good: docs/tls.md")
        }
        "traceenable" => left("TRACE goes no further than Samovar"),
        _ => left("this importer does not know the directive: look up what it does, and whether you need it"),
    }
}
