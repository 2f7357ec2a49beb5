//! What becomes of a request for another protocol (`Upgrade`, RFC 9110 §7.8), and how a connection that changed ends.

use crate::reasons;

reasons! {
    /// Whether a request for another protocol is passed on, and how what came of it ended.
    Upgrade, "upgrade" {
        Passed = "upgrade-passed", "the request for another protocol was passed on to the upstream, which decides", "";
        Declined = "upgrade-declined", "the upstream answered in HTTP instead of changing the protocol", "";
        Off = "upgrade-off", "the rule passes on no request for another protocol", "set `upgrade = true`";
        NotNamed = "upgrade-not-named", "`Connection` does not name `upgrade`, so the field means nothing (RFC 9110 §7.8)", "the client must send `Connection: upgrade`";
        OldVersion = "upgrade-old-version", "HTTP/1.0 cannot change the protocol", "the client must speak HTTP/1.1";
        NotGet = "upgrade-not-get", "only a GET without a body may change the protocol here", "";
        Malformed = "upgrade-malformed", "the Upgrade field is not a list of protocols", "";
        AnotherHttp = "upgrade-another-http", "another version of HTTP, or TLS, inside the connection would go past every rule and limit, so it is not passed on", "";
        NoUpstream = "upgrade-no-upstream", "files and FastCGI applications cannot change the protocol", "give the path to an HTTP upstream";
        Stopping = "upgrade-stopping", "the server is stopping, and begins nothing that would outlast it", "";
        ClientClosed = "upgraded-client-closed", "the client ended the connection after the protocol had changed", "";
        UpstreamClosed = "upgraded-upstream-closed", "the upstream ended the connection after the protocol had changed", "";
        ClientBroke = "upgraded-client-broke", "the client's connection broke after the protocol had changed", "";
        UpstreamBroke = "upgraded-upstream-broke", "the upstream's connection broke after the protocol had changed", "look at the upstream's own log";
        Idle = "upgraded-idle", "nothing went either way for too long after the protocol had changed", "raise `limits.upgraded_idle_timeout`, or let the application send pings";
        ServerStopped = "upgraded-server-stopped", "the server stopped, and ended the connection on both sides", "";
    }
}
