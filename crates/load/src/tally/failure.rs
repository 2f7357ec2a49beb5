//! The ways in which a connect or a request fails: a closed list with stable codes.
//!
//! Not here: deciding which it is (the sender sees errno, the reader sees bytes).

use serde::{Deserialize, Serialize};

macro_rules! failures {
    ($($variant:ident = $code:literal, $connect:literal, $text:literal;)+) => {
        /// Why a connect or a request failed. Codes are stable: they stand in the JSON report.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Failure { $(#[doc = $text] #[serde(rename = $code)] $variant,)+ }

        impl Failure {
            /// All of them, in order.
            pub const ALL: [Failure; Self::COUNT] = [$(Failure::$variant,)+];
            /// How many there are.
            pub const COUNT: usize = [$($code,)+].len();

            /// The stable code.
            pub fn code(self) -> &'static str { match self { $(Failure::$variant => $code,)+ } }
            /// One sentence for people.
            pub fn text(self) -> &'static str { match self { $(Failure::$variant => $text,)+ } }
            /// Whether it happened before any request could be sent.
            pub fn is_connect(self) -> bool { match self { $(Failure::$variant => $connect,)+ } }
        }
    };
}

failures! {
    Refused = "refused", true, "the server refused the connection";
    ConnectTimeout = "connect-timeout", true, "the connection was not made in time";
    NoPorts = "no-ports", true, "no local port was free for another connection";
    NoFiles = "no-files", true, "no file descriptor was free for another connection";
    Connect = "connect", true, "the connection could not be made for another reason";
    Tls = "tls", true, "the TLS handshake failed";
    Timeout = "timeout", false, "no whole answer came in time";
    Reset = "reset", false, "the server reset the connection";
    Closed = "closed", false, "the server closed the connection before a whole head";
    ShortBody = "short-body", false, "the server closed the connection inside the body";
    Parse = "parse", false, "the answer is not well-formed HTTP/1.x";
    Excess = "excess", false, "the server sent more bytes than the answer has";
    Status = "status", false, "the status is 400 or more, or not the one that is expected";
    Redirect = "redirect", false, "a redirect leads in circles, nowhere, or to a server that was not named";
    Check = "check", false, "the answer is not what --expect says";
    Changed = "changed", false, "the answer has another content than the first of its URL";
    Other = "other", false, "another error of the socket";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_in_order() {
        let mut codes: Vec<_> = Failure::ALL.iter().map(|f| f.code()).collect();
        assert!(Failure::ALL.iter().enumerate().all(|(at, f)| *f as usize == at));
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Failure::COUNT);
    }
}
