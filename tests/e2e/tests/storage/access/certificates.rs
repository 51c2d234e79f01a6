//! Tests of client certificates that a proxy passes on, and of VO member files.

use serde_json::json;
use weir_testkit::{RawClient, TempDir};

use crate::access::bearer;
use crate::tokens::{Secrets, json_of};
use crate::{Site, config, message};

/// NGINX with its VOMS module, simulated by its headers.
#[test]
fn a_listed_proxy_says_whose_certificate_it_was_and_nobody_else_does() {
    let site = Site::new(
        "identity-from = \"127.0.0.1\"\n[storage-area.data.access]\nvos = \"cms\"\n\
         [[storage-area.data.access.policy]]\ndescription = \"jo\"\neffect = \"permit\"\nactions = \"all\"\npaths = \"/jo/**\"\n\
         principals = { type = \"x509-subject\", subject = \"CN=Jo,O=Example\" }\n\
         [[storage-area.data.access.policy]]\ndescription = \"production\"\neffect = \"permit\"\nactions = \"all\"\n\
         paths = \"/prod/**\"\nprincipals = { type = \"fqan\", fqan = \"/other/Role=production\" }\n",
    );
    for name in ["jo/f", "prod/f", "f"] {
        site.write(name, "content");
    }
    let jo = ("X-VOMS-ssl_client_ee_s_dn", "CN=Jo,O=Example");
    let member = [
        jo,
        ("X-VOMS-voms_user", "/O=Example/CN=Jo"),
        ("X-VOMS-voms_vo", "cms"),
        ("X-VOMS-voms_fqans", "/cms,/cms/Role=pilot"),
        ("X-VOMS-voms_not_before", "20200101000000Z"),
        ("X-VOMS-voms_not_after", "20991231000000Z"),
    ];
    let past: Vec<_> = member.iter().map(|&(name, value)| (name, value.replace("2099", "2021"))).collect();
    let past: Vec<_> = past.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let producer = [jo, ("X-VOMS-voms_vo", "other"), ("X-VOMS-voms_fqans", "/other,/other/Role=production")];
    let ask = |from: [u8; 4], path: &str, lines: &[(&str, &str)]| {
        let mut client = RawClient::connect_from(from.into(), site.weir.addr("web"));
        client.exchange(message("GET", path, lines, b"")).status
    };
    let (proxy, other) = ([127, 0, 0, 1], [127, 0, 0, 2]);
    for (path, lines, status) in [
        ("/jo/f", &[jo][..], 200),
        ("/f", &[jo], 403),
        ("/f", &member, 200),
        ("/f", &past, 403),
        ("/prod/f", &producer, 200),
        ("/prod/f", &[jo], 403),
        // A malformed and a duplicate header.
        ("/jo/f", &[("X-VOMS-ssl_client_ee_s_dn", "Jo")], 400),
        ("/jo/f", &[jo, ("x-voms-ssl_client_ee_s_dn", "CN=Ada,O=Example")], 400),
        // NGINX omits headers with empty values. A client without a certificate is anonymous.
        ("/jo/f", &[], 403),
    ] {
        assert_eq!(ask(proxy, path, lines), status, "{path} {lines:?}");
    }
    for (path, lines) in
        [("/jo/f", &[jo][..]), ("/f", &member), ("/jo/f", &[("X-VOMS-ssl_client_ee_s_dn", "Jo")])]
    {
        assert_eq!(ask(other, path, lines), 403, "{path}");
    }
}

#[test]
fn a_file_says_whose_certificates_belong_to_an_organisation() {
    let files = TempDir::new().unwrap();
    let map = files.path().join("cms.csv");
    std::fs::write(
        &map,
        "# members\n\"/O=Example, Inc/CN=Jo\",/O=Example/CN=CA,jo@example.org\n/O=Example/CN=Al\n",
    )
    .unwrap();
    let area = format!(
        "identity-from = \"127.0.0.1\"\nvo-maps = {{ cms = {map:?} }}\n[storage-area.data.access]\nvos = \"cms\"\n"
    );
    let mut site = Site::new(&area);
    site.write("f", "content");
    let ask = |site: &Site, method: &str, subject: &str, issuer: &str| {
        let lines = [("X-VOMS-ssl_client_ee_s_dn", subject), ("X-VOMS-ssl_client_ee_i_dn", issuer)];
        site.weir.client().exchange(message(method, "/f", &lines, b"")).status
    };
    let jo = "CN=Jo,O=Example\\, Inc";
    assert_eq!(ask(&site, "GET", jo, "CN=CA,O=Example"), 200);
    // From another authority, the same subject is another identity.
    assert_eq!(ask(&site, "GET", jo, "CN=Other"), 403);
    assert_eq!(ask(&site, "GET", "CN=Al,O=Example", "CN=Other"), 200);
    assert_eq!(ask(&site, "GET", "CN=Eve,O=Example", "CN=CA,O=Example"), 403);
    // The membership permits only reading.
    assert_eq!(ask(&site, "DELETE", jo, "CN=CA,O=Example"), 403);
    std::fs::write(&map, "/O=Example/CN=Eve\n").unwrap();
    let text = config(site.root.path(), "", &area);
    site.weir.reload(&text);
    assert_eq!(ask(&site, "GET", "CN=Eve,O=Example", "CN=CA,O=Example"), 200);
    assert_eq!(ask(&site, "GET", "CN=Al,O=Example", "CN=Other"), 403);
    // An invalid file changes nothing.
    std::fs::write(&map, "CN=Eve\n").unwrap();
    let reply = site.weir.command(&json!("reload"));
    assert!(reply.to_string().contains("line 1: a distinguished name with slashes begins with /"), "{reply}");
    assert_eq!(ask(&site, "GET", "CN=Eve,O=Example", "CN=CA,O=Example"), 200);
}

#[test]
fn who_is_taken_out_of_the_file_of_an_organisation_loses_its_rights_also_with_a_token_from_before() {
    let (files, secrets) = (TempDir::new().unwrap(), Secrets::new());
    let map = files.path().join("cms.csv");
    std::fs::write(&map, "/O=Example/CN=Jo\n").unwrap();
    let area = format!(
        "identity-from = \"127.0.0.1\"\nvo-maps = {{ cms = {map:?} }}\ntoken-endpoint = \"own\"\n\
         [storage-area.data.access]\nvos = \"cms\"\n\
         [token-endpoint.own]\nissuer = \"https://storage.example.org\"\nkey = {:?}\n",
        secrets.file("key.pem")
    );
    let mut site = Site::new(&area);
    site.write("d/f", "content");
    let lines =
        [("X-VOMS-ssl_client_ee_s_dn", "CN=Jo,O=Example"), ("Content-Type", "application/macaroon-request")];
    let asked = site.request("POST", "/d/", &lines, b"{\"caveats\": [\"activity:DOWNLOAD,LIST\"]}");
    assert_eq!(asked.status, 200, "{}", asked.text());
    let token = bearer(json_of(&asked)["macaroon"].as_str().unwrap());
    let get = |site: &Site| site.get_with("/d/f", &[("Authorization", &token)]).status;
    assert_eq!(get(&site), 200);
    std::fs::write(&map, "# nobody\n").unwrap();
    let text = config(site.root.path(), "", &area);
    site.weir.reload(&text);
    assert_eq!(get(&site), 403);
    // With the membership, the permission comes back.
    std::fs::write(&map, "/O=Example/CN=Jo\n").unwrap();
    site.weir.reload(&format!("{text}\n# again\n"));
    assert_eq!(get(&site), 200);
}
