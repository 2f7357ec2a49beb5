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
        "rewriteengine" => left("rules of mod_rewrite are not read"),
        "rewriterule" | "rewritecond" | "rewritemap" | "rewritebase" | "rewriteoptions" | "redirectmatch"
        | "aliasmatch" => left("its expressions are not read: write `rewrite` or `redirect` into a rule"),
        "enablemmap" | "enablesendfile" | "win32disableacceptex" | "acceptfilter" => {
            left("a work-around for the system it ran on; Samovar needs none")
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
            left("one thread per core serves all; `[limits] connections_max` bounds clients")
        }
        "errorlog" | "loglevel" | "logformat" | "extendedstatus" => {
            left("each request's decisions are in `samovar trace` and `samovar explain`")
        }
        "serveradmin" | "servertokens" | "serversignature" | "usecanonicalname" | "hostnamelookups" => {
            left("Samovar names neither itself nor people on its pages")
        }
        "user" | "group" | "pidfile" | "lockfile" | "scoreboardfile" | "mutex" | "serverroot" => {
            left("whoever starts Samovar decides: systemd, a container")
        }
        "allowoverridelist" | "accessfilename" => left("no .htaccess is read; all is said in one file"),
        "timeout" => left("each wait has its own limit: `[limits]`, `[[upstream]]`"),
        "keepalive" => left("connections are kept"),
        "namevirtualhost" => left("sites are told apart by name always"),
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
        | "mimemagicfile" => left("types are built in (`types` adds some); lists are drawn in one way"),
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
        | "sslstaplingcache" => left("TLS 1.2 and 1.3 with the ciphers that are held good: docs/tls.md"),
        "traceenable" => left("TRACE goes to the application like any method"),
        _ => left("this importer does not know the directive"),
    }
}
