//! What IIS kept away is kept away by what is imported.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop at its first surprise"
)]

mod judge;

use judge::{Judge, Met};
use samovar_import::{Fate, Source};

fn config(inner: &str) -> Judge {
    Judge::of(Source::Iis, &format!("<configuration>\n{inner}\n</configuration>\n"))
}

fn server(inner: &str) -> Judge {
    config(&format!("<system.webServer>{inner}</system.webServer>"))
}

fn filtering(inner: &str) -> Judge {
    server(&format!("<security><requestFiltering>{inner}</requestFiltering></security>"))
}

const NO_ANONYMOUS: &str = "<system.webServer><security><authentication><anonymousAuthentication enabled=\"false\"/></authentication></security></system.webServer>";

fn meets(judge: &Judge, rows: &[(&str, Met)]) {
    for (path, wanted) in rows {
        assert_eq!(judge.meets(path), *wanted, "{path}\n{}", judge.toml);
    }
}

#[test]
fn what_iis_hides_by_itself_is_hidden() {
    let bare = server("<directoryBrowse enabled=\"true\"/>");
    for path in [
        "/App_Data/users.mdf",
        "/app_data/x.txt",
        "/bin/app.txt",
        "/Bin/app.dll",
        "/a/App_Code/x.txt",
        "/global.asax",
        "/x.CS",
        "/App_GlobalResources",
        "/x.resx",
        "/default.aspx",
        "/x.php",
    ] {
        assert_eq!(bare.meets(path), Met::Closed, "{path}\n{}", bare.toml);
    }
    meets(&bare, &[("/index.html", Met::Open), ("/binary/x", Met::Open), ("/a.jpg", Met::Open)]);
    // They are hidden in a location too, whatever it says of itself.
    let inner = config(
        "<location path=\"app\"><system.webServer><httpProtocol><customHeaders><add name=\"A\" value=\"b\"/></customHeaders></httpProtocol></system.webServer></location>",
    );
    meets(&inner, &[("/app/bin/x", Met::Closed), ("/app/x.cs", Met::Closed), ("/app/x", Met::Open)]);
    let shown = filtering(
        "<hiddenSegments><remove segment=\"bin\"/></hiddenSegments><fileExtensions><remove fileExtension=\".cs\"/></fileExtensions>",
    );
    meets(
        &shown,
        &[("/bin/x", Met::Open), ("/x.cs", Met::Open), ("/App_Data/x", Met::Closed), ("/x.vb", Met::Closed)],
    );
}

#[test]
fn guards_of_the_filter_hold() {
    meets(
        &filtering("<hiddenSegments><add segment=\"Own\"/></hiddenSegments>"),
        &[("/own/x", Met::Closed), ("/a/OWN", Met::Closed)],
    );
    meets(
        &filtering("<fileExtensions><add fileExtension=\".bak\" allowed=\"false\"/></fileExtensions>"),
        &[("/x.bak", Met::Closed), ("/x", Met::Open)],
    );
    meets(
        &filtering(
            "<fileExtensions allowUnlisted=\"false\"><add fileExtension=\".jpg\" allowed=\"true\"/></fileExtensions>",
        ),
        &[("/x.txt", Met::Closed)],
    );
    meets(
        &filtering("<denyUrlSequences><add sequence=\"_vti\"/></denyUrlSequences>"),
        &[("/a/x_VTI_y/z", Met::Closed), ("/a", Met::Open)],
    );
    meets(
        &filtering("<filteringRules><filteringRule name=\"x\" scanUrl=\"true\"/></filteringRules>"),
        &[("/a", Met::Closed)],
    );
    meets(&filtering("<verbs><add verb=\"DELETE\" allowed=\"false\"/></verbs>"), &[("/a", Met::Closed)]);
}

#[test]
fn who_may_is_still_asked_or_nobody_may() {
    for guard in [
        "<ipSecurity allowUnlisted=\"false\"/>",
        "<access sslFlags=\"Ssl\"/>",
        "<authorization><add accessType=\"Allow\" roles=\"Admins\"/></authorization>",
        "<authorization><add accessType=\"Deny\" users=\"?\"/></authorization>",
        "<authentication><anonymousAuthentication enabled=\"false\"/></authentication>",
        "<ipSecurity><add ipAddress=\"odd\"/></ipSecurity>",
    ] {
        let judge = server(&format!("<security>{guard}</security>"));
        assert_eq!(judge.meets("/x"), Met::Closed, "{guard}\n{}", judge.toml);
    }
    meets(
        &server(
            "<security><ipSecurity allowUnlisted=\"false\"><add ipAddress=\"10.0.0.0\" subnetMask=\"255.0.0.0\" allowed=\"true\"/></ipSecurity></security>",
        ),
        &[("/x", Met::Some)],
    );
    meets(
        &server("<security><ipSecurity><add ipAddress=\"10.0.0.1\"/></ipSecurity></security>"),
        &[("/x", Met::Some)],
    );
    meets(
        &server(
            "<rewrite><rules><rule name=\"x\"><match url=\".*\"/><action type=\"AbortRequest\"/></rule></rules></rewrite>",
        ),
        &[("/x", Met::Closed)],
    );
    meets(&server("<aspNetCore processPath=\"x\"/>"), &[("/appsettings.json", Met::Closed)]);
    meets(
        &server("<handlers><add name=\"p\" path=\"*.pl\" modules=\"CgiModule\"/></handlers>"),
        &[("/x.pl", Met::Closed), ("/x", Met::Open)],
    );
    let application = "<system.web><authorization><deny users=\"?\"/></authorization></system.web>";
    meets(&config(application), &[("/x", Met::Closed)]);
    meets(
        &config(&format!("<location path=\"in\">{application}</location>")),
        &[("/in/x", Met::Closed), ("/x", Met::Open)],
    );
    meets(
        &config("<system.web><authorization><allow users=\"*\"/></authorization></system.web>"),
        &[("/x", Met::Open)],
    );
    let limited = server(
        "<security><dynamicIpSecurity><denyByRequestRate enabled=\"true\"/></dynamicIpSecurity></security>",
    );
    assert!(limited.notes.iter().any(|n| n.fate == Fate::Unsafe), "{:?}", limited.notes);
}

#[test]
fn a_location_is_a_folder_and_compared_without_case() {
    let dotted = config(&format!("<location path=\"v1.0\">{NO_ANONYMOUS}</location>"));
    meets(&dotted, &[("/v1.0", Met::Closed), ("/v1.0/x.txt", Met::Closed), ("/x", Met::Open)]);
    let written = config(&format!("<location path=\"Secret\">{NO_ANONYMOUS}</location>"));
    meets(&written, &[("/secret/x.txt", Met::Closed), ("/SECRET", Met::Closed), ("/x", Met::Open)]);
    // A guard holds where another location says something else of the same paths.
    let inner = config(&format!(
        "<location path=\"a\">{NO_ANONYMOUS}</location><location path=\"a/b\"><system.webServer><caching enabled=\"false\"/></system.webServer></location>"
    ));
    meets(&inner, &[("/a/b/x", Met::Closed)]);
}
