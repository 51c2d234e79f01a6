//! Tests of Cache-Control: shared caches may keep only responses to anonymous clients.

use serde_json::json;

use crate::Site;
use crate::access::{ISSUER, Issuer, bearer};

#[test]
fn what_goes_to_somebody_in_particular_is_kept_for_nobody_else() {
    let issuer = Issuer::new();
    let token = issuer.token(&json!({}));
    let (in_url, authorization) = (format!("/f?access_token={token}"), bearer(&token));
    for (configured, to_all, to_one) in [
        ("cache-control = \"max-age=60\"", Some("max-age=60"), "max-age=60, private"),
        ("cache-control = \"Private, max-age=60\"", Some("Private, max-age=60"), "Private, max-age=60"),
        (
            "cache-control = \"public, max-age=60, S-MaxAge=600\"",
            Some("public, max-age=60, S-MaxAge=600"),
            "max-age=60, private",
        ),
        (
            "cache-control = 'max-age=60, x=\"a, private, b\"'",
            Some("max-age=60, x=\"a, private, b\""),
            "max-age=60, x=\"a, private, b\", private",
        ),
        ("cache-control = \"no-store\"", Some("no-store"), "no-store"),
        ("", None, "private"),
    ] {
        let site = Site::new(&format!(
            "{configured}\ntoken-in-url = true\nidentity-from = \"127.0.0.1\"\n\
             [storage-area.data.access]\nanonymous-read = true\nissuers = \"{ISSUER}\"\n{}",
            issuer.config()
        ));
        site.write("f", "content");
        let plain = site.get("/f");
        assert_eq!((plain.status, plain.header("cache-control")), (200, to_all), "{configured}");
        let etag = plain.header("etag").unwrap();
        for (path, line, status) in [
            (in_url.as_str(), ("Accept", "*/*"), 200),
            ("/f", ("Authorization", authorization.as_str()), 200),
            // A proxy in front passes the subject of the client certificate.
            ("/f", ("X-VOMS-ssl_client_ee_s_dn", "CN=Jo,O=Example"), 200),
            (in_url.as_str(), ("If-None-Match", etag), 304),
        ] {
            let answer = site.get_with(path, &[line]);
            assert_eq!(answer.status, status, "{configured} {line:?}");
            assert_eq!(answer.header_values("cache-control"), [to_one], "{configured} {line:?}");
        }
    }
}
