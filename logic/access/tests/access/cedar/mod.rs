//! Tests of Cedar policies in combination with ordered policies, switches and scopes.

mod laws;

use std::sync::Arc;

use weir_access::Action;
use weir_access::identity::{BasicUser, Delegation, Identity, VoMap};
use weir_access::issue::narrow;
use weir_access::rule::cedar::{CedarFault, CedarFile, CedarPolicies};
use weir_access::rule::{AreaRules, AreaSpec, Circumstances, Request, decide};
use weir_access::wlcg::ScopeSet;

use crate::common::{ISSUER, NOW, bearer, member, path};

fn file(text: &str) -> CedarFile {
    CedarFile { name: "data.cedar".to_owned(), text: text.into() }
}

fn parse(text: &str) -> CedarPolicies {
    match CedarPolicies::parse(&[file(text)]) {
        Ok((policies, _)) => policies,
        Err(wrong) => panic!("{}", wrong.iter().map(|fault| format!("{fault}\n")).collect::<String>()),
    }
}

/// Returns the rules of an area at `/d` and `/alias`.
fn area(rules: &str, cedar: &str) -> AreaRules {
    let rules = toml::from_str::<AreaSpec>(rules).unwrap().resolve("data", &["/d", "/alias"]).unwrap();
    rules.with_cedar(Arc::new(parse(cedar)))
}

fn told_at(
    area: &AreaRules,
    circumstances: &Circumstances,
    who: &Identity,
    action: &Action,
    at: &str,
) -> String {
    decide(area, Request { identity: who, action, path: &path(at), circumstances }).to_string()
}

fn may(area: &AreaRules, who: &Identity, action: &Action, at: &str) -> bool {
    told_at(area, &Circumstances::default(), who, action, at).starts_with("allowed")
}

fn user(name: &str) -> Identity {
    Identity::Basic(BasicUser { name: name.to_owned() })
}

fn faults(cedar: &str) -> Vec<String> {
    let wrong: Vec<CedarFault> = CedarPolicies::parse(&[file(cedar)]).unwrap_err();
    wrong.iter().map(ToString::to_string).collect()
}

fn warnings(cedar: &str) -> Vec<String> {
    let (_, doubtful) = CedarPolicies::parse(&[file(cedar)]).unwrap();
    doubtful.iter().map(ToString::to_string).collect()
}

#[test]
fn what_nothing_permits_is_denied() {
    let none = area("", "");
    let other = area("", r#"permit(principal == User::"eve", action, resource);"#);
    for rules in [&none, &other] {
        for action in [Action::Read, Action::Stat, Action::Create, Action::Delete, Action::Stage] {
            assert!(!may(rules, &user("ada"), &action, "/d/x"), "{action}");
            assert!(!may(rules, &Identity::Anonymous, &action, "/d/x"), "{action}");
        }
    }
}

#[test]
fn policies_that_were_not_read_let_nobody_do_anything() {
    let rules: AreaSpec = toml::from_str("anonymous-read = true\ncedar = ['/p.cedar']").unwrap();
    let area = rules.resolve("data", &["/d"]).unwrap();
    let told = told_at(&area, &Circumstances::default(), &user("ada"), &Action::Read, "/d/x");
    assert!(told.starts_with("denied: the Cedar policies of area 'data' have not been read"), "{told}");
    assert!(!area.permits_below(&user("ada"), &Action::Read, &path("/d/x")));
}

#[test]
fn a_forbid_denies_whatever_permits() {
    let everything = format!(
        "anonymous-read = true\nissuers = [\"{ISSUER}\"]\nissuers-write = true\ntoken-scopes = true\n\
         [[policy]]\ndescription = \"all\"\neffect = \"permit\"\nactions = [\"all\"]\nprincipals = [{{ type = \"anyone\" }}]\n"
    );
    let rules = area(
        &everything,
        r#"
        permit(principal, action, resource);
        forbid(principal, action, resource in Directory::"/raw");
        "#,
    );
    let own = Identity::Delegated(Box::new(Delegation {
        holder: user("ada"),
        scopes: ScopeSet::parse(["storage.modify:/", "storage.read:/"]),
        area: "data".to_owned(),
        proof: None,
        expires_unix_secs: NOW + 60,
        token_id: "t".to_owned(),
    }));
    let scoped = bearer("storage.modify:/ storage.read:/", &[]);
    for who in [Identity::Anonymous, user("ada"), scoped, bearer("", &[]), member("cms", &[]), own] {
        assert!(may(&rules, &who, &Action::Read, "/d/rawest"), "{who}");
        for at in ["/d/raw", "/d/raw/", "/d/raw/x", "/d/raw/x/y", "/alias/raw/x", "/d//./raw/x"] {
            assert!(!may(&rules, &who, &Action::Read, at), "{who} {at}");
            assert!(!may(&rules, &who, &Action::Delete, at), "{who} {at}");
            // Both source and destination of a rename are denied.
            assert!(!may(&rules, &who, &Action::Rename { to: path("/d/a") }, at), "{who} {at}");
            assert!(!may(&rules, &who, &Action::Rename { to: path(at) }, "/d/a"), "{who} {at}");
        }
    }
}

#[test]
fn a_deny_of_the_ordered_policies_denies_whatever_a_permit_says() {
    let rules = area(
        "[[policy]]\ndescription = \"kept\"\nactions = [\"delete\"]\nprincipals = [{ type = \"anyone\" }]",
        "permit(principal, action, resource);",
    );
    assert!(may(&rules, &user("ada"), &Action::Overwrite, "/d/x"));
    assert!(!may(&rules, &user("ada"), &Action::Delete, "/d/x"));
}

/// A condition that passes validation but cannot be evaluated, because the sum overflows a 64-bit integer.
const OVERFLOW: &str =
    "resource.directory || 9223372036854775807 + (if resource.name == \"x\" then 1 else 1) > 0";

#[test]
fn what_cannot_be_evaluated_forbids_and_permits_nothing() {
    let forbid = format!("@id(\"odd\") forbid(principal, action, resource) when {{ {OVERFLOW} }};");
    let rules = area("", &format!("permit(principal, action, resource);\n{forbid}"));
    let told = told_at(&rules, &Circumstances::default(), &user("ada"), &Action::Read, "/d/x");
    assert!(
        told.starts_with("denied: Cedar policy 'odd' (data.cedar:2) may forbid it in area 'data', as it cannot be evaluated: "),
        "{told}"
    );
    let permit = format!("permit(principal, action, resource) when {{ {OVERFLOW} }};");
    let rules = area("", &permit);
    let told = told_at(&rules, &Circumstances::default(), &user("ada"), &Action::Read, "/d/x");
    assert!(
        told.starts_with("denied: ")
            && told.contains("the Cedar policy at data.cedar:1 permits nothing, as it cannot be evaluated"),
        "{told}"
    );
    // Another policy that permits the request still does.
    let both = area("", &format!("{permit}permit(principal, action, resource);"));
    assert!(may(&both, &user("ada"), &Action::Read, "/d/x"));
}

#[test]
fn principals_are_told_by_kind_issuer_groups_scopes_and_client() {
    let permits =
        |head: &str, who: &Identity| may(&area("", &format!("permit({head};")), who, &Action::Read, "/d/x");
    let staff = bearer("storage.read:/ openid", &["/cms"]);
    let on = |condition: &str| format!("principal is User, action, resource) when {{ {condition} }}");
    let jo = format!("token:{ISSUER}#jo");
    let cases: [(String, [bool; 4]); 13] = [
        // Columns: anonymous, password of jo, token of jo, certificate of jo.
        ("principal, action, resource)".to_owned(), [true, true, true, true]),
        ("principal is User, action, resource)".to_owned(), [false, true, true, true]),
        ("principal is Anonymous, action, resource)".to_owned(), [true, false, false, false]),
        ("principal == User::\"jo\", action, resource)".to_owned(), [false, true, false, false]),
        (format!("principal == User::\"{jo}\", action, resource)"), [false, false, true, false]),
        (
            "principal == User::\"certificate:CN=Jo,O=Example,C=IT\", action, resource)".to_owned(),
            [false, false, false, true],
        ),
        (format!("principal in Group::\"{ISSUER}#/cms\", action, resource)"), [false, false, true, false]),
        (
            "principal in Group::\"voms:/cms/Role=production\", action, resource)".to_owned(),
            [false, false, false, true],
        ),
        (on("principal.kind == \"token\" && principal.subject == \"jo\""), [false, false, true, false]),
        (
            on(&format!("principal has issuer && principal.issuer == \"{ISSUER}\"")),
            [false, false, true, false],
        ),
        (on("principal.groups.contains(\"/cms\")"), [false, false, true, false]),
        (on("principal.scopes.contains(\"openid\")"), [false, false, true, false]),
        (on("principal has client && principal.client like \"rob*\""), [false, false, true, false]),
    ];
    let certificate = member("cms", &["/cms/Role=production"]);
    for (head, expected) in cases {
        let who = [&Identity::Anonymous, &user("jo"), &staff, &certificate];
        // These scopes match: even if the area does not honour scopes, they limit a token.
        assert_eq!(who.map(|who| permits(&head, who)), expected, "{head}");
    }
}

#[test]
fn whose_certificate_a_file_maps_is_in_the_group_of_the_organisation() {
    let rules = area("", "permit(principal in Group::\"vo-map:cms\", action, resource);");
    let mut certificate = member("other", &["/other"]);
    let mut map = VoMap::default();
    map.add_file("atlas", "/C=IT/O=Example/CN=Jo\n").unwrap();
    certificate.map_vos(&map);
    assert!(!may(&rules, &certificate, &Action::Read, "/d/x"));
    map.add_file("cms", "/C=IT/O=Example/CN=Jo\n").unwrap();
    certificate.map_vos(&map);
    assert!(may(&rules, &certificate, &Action::Read, "/d/x"));
    // A membership that VOMS states is another group.
    let stated = member("cms", &["/cms", "cms"]);
    assert!(!may(&rules, &stated, &Action::Read, "/d/x"));
}

#[test]
fn actions_are_single_ones_and_groups_of_them() {
    let all = [
        (Action::Read, 'r'),
        (Action::Stat, 's'),
        (Action::List, 'l'),
        (Action::Poll, 'p'),
        (Action::Create, 'c'),
        (Action::MakeDirectory, 'm'),
        (Action::Overwrite, 'o'),
        (Action::Delete, 'd'),
        (Action::Stage, 't'),
    ];
    for (head, expected) in [
        ("action", "rslpcmodt"),
        ("action in Action::\"all\"", "rslpcmodt"),
        ("action in Action::\"read\"", "rslp"),
        ("action == Action::\"read\"", "r"),
        ("action in Action::\"write\"", "cmo"),
        ("action in [Action::\"stage\", Action::\"delete\"]", "dt"),
        ("action == Action::\"make-directory\"", "m"),
    ] {
        let rules = area("", &format!("permit(principal, {head}, resource);"));
        let may: String = all
            .iter()
            .filter(|(action, _)| may(&rules, &Identity::Anonymous, action, "/d/x"))
            .map(|(_, letter)| letter)
            .collect();
        assert_eq!(may, expected, "{head}");
        // The same action within a condition.
        let rules = area(
            "",
            &format!(
                "permit(principal, action, resource) when {{ {} }};",
                match head {
                    "action" => "true",
                    head => head,
                }
            ),
        );
        let may = all.iter().filter(|(action, _)| self::may(&rules, &Identity::Anonymous, action, "/d/x"));
        assert_eq!(may.map(|(_, letter)| letter).collect::<String>(), expected, "{head}");
    }
}

#[test]
fn circumstances_can_be_asked_for() {
    let rules = area(
        "",
        r#"
        permit(principal, action, resource) when {
            context has client && context.client.isInRange(ip("10.0.0.0/8"))
            && context.now >= datetime("2027-01-15T08:00:00Z") && context.method == "GET"
        };
        "#,
    );
    let here = Circumstances {
        method: "GET".to_owned(),
        now_unix_secs: NOW,
        client: Some("::ffff:10.1.2.3".parse().unwrap()),
    };
    let told = |circumstances: &Circumstances| {
        told_at(&rules, circumstances, &Identity::Anonymous, &Action::Read, "/d/x").starts_with("allowed")
    };
    assert!(told(&here));
    assert!(!told(&Circumstances { client: None, ..here.clone() }));
    assert!(!told(&Circumstances { client: Some("192.0.2.1".parse().unwrap()), ..here.clone() }));
    assert!(!told(&Circumstances { now_unix_secs: NOW - 1, ..here.clone() }));
    assert!(!told(&Circumstances { method: "HEAD".to_owned(), ..here }));
}

#[test]
fn reasons_name_the_policy() {
    let rules = area(
        "anonymous-read = true\nissuers = [\"https://tokens.example/cms\"]\n\
         [[policy]]\ndescription = \"books\"\neffect = \"permit\"\nactions = [\"read\"]\npaths = [\"/books/**\"]\n\
         principals = [{ type = \"anyone\" }]",
        "@id(\"home\")\npermit(principal == User::\"ada\", action, resource in Directory::\"/home/ada\");\n\n\
         forbid(principal, action, resource) when { resource.name like \".*\" };\n",
    );
    let rename = Action::Rename { to: path("/d/home/ada/.b") };
    let cases = [
        (user("ada"), Action::Create, "/d/home/ada/x"),
        (user("ada"), Action::Create, "/d/home/bob/x"),
        (Identity::Anonymous, Action::Read, "/d/books/.x"),
        (Identity::Anonymous, Action::Read, "/d/books/x"),
        (Identity::Anonymous, Action::Read, "/d/x"),
        (user("ada"), rename, "/d/home/ada/a"),
        (bearer("storage.read:/x", &[]), Action::Read, "/d/x"),
        (bearer("storage.read:/x", &[]), Action::Read, "/d/.x"),
    ];
    let told = |(who, action, at): &(Identity, Action, &str)| {
        told_at(&rules, &Circumstances::default(), who, action, at)
    };
    insta::assert_snapshot!(cases.iter().map(told).collect::<Vec<_>>().join("\n\n"));
}

#[test]
fn policies_are_found_behind_comments_that_say_the_same() {
    let policy = "forbid(principal, action, resource);";
    let rules =
        area("", &format!("// {policy}\n//\r\n\t{policy} // {policy}\n\n@id(\"b\") // {policy}\n{policy}"));
    let told = told_at(&rules, &Circumstances::default(), &user("ada"), &Action::Read, "/d/x");
    assert!(told.starts_with("denied: the Cedar policy at data.cedar:3 forbids it"), "{told}");
    let wrong = format!("// {policy}\n@id(\"a\") {policy}\n// {policy}\n@id(\"a\")\n{policy}");
    assert_eq!(warnings(&wrong), ["data.cedar:4: another policy has the @id \"a\", too"]);
}

/// The guide contains the current schema, and its examples are valid.
#[test]
fn the_guide_tells_the_schema_and_sound_policies() {
    let guide = include_str!("../../../../../docs/guide/cedar-policies.md");
    let schema = include_str!("../../../src/rule/cedar/policies/schema.cedarschema");
    assert!(guide.contains(&format!("```cedarschema\n{schema}```")), "the guide has another schema");
    let examples: Vec<&str> =
        guide.split("```cedar\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 3);
    for example in examples {
        assert_eq!(warnings(example), [""; 0], "{example}");
    }
}

/// The error states the position, the problem, and the correction.
#[test]
fn what_is_wrong_with_policies_is_named() {
    let wrong: Vec<String> = [
        "permit(principal, action, resource)",
        "permit(principal, action, resource) when { principal.name == \"x\" };",
        "\npermit(principal is User, action, resource) when { principal.grops.contains(\"x\") };",
        "permit(principal, action == Action::\"reed\", resource);",
        "permit(principal is Usr, action, resource);",
        "permit(principal is User, action, resource) when { principal.issuer == \"x\" };",
        "permit(principal, action, resource) when { context.client.isLoopback() };",
        "permit(principal, action, resource in Directory::\"/raw/\");",
        "forbid(principal, action, resource) when { resource in Directory::\"raw\" };",
        "forbid(principal, action, resource == Path::\"/a/../b\");",
        "forbid(principal == Anonymous::\"nobody\", action, resource);",
        "permit(principal == ?principal, action, resource);",
        "permit(principal, action, resource);\n\n  permt(principal, action, resource);",
    ]
    .iter()
    .map(|text| faults(text).join("\n"))
    .collect();
    insta::assert_snapshot!(wrong.join("\n\n"));
}

#[test]
fn what_is_doubtful_about_policies_is_named() {
    let doubtful = [
        "permit(principal is Anonymous, action, resource) when { principal is User };",
        "@id(\"a\") permit(principal, action, resource);\n@id(\"a\") permit(principal, action, resource);",
        "// Nothing.",
    ];
    let told: Vec<String> = doubtful.iter().map(|text| warnings(text).join("\n")).collect();
    insta::assert_snapshot!(told.join("\n\n"));
    assert_eq!(warnings("permit(principal, action, resource);"), [""; 0]);
}

#[test]
fn what_is_too_deep_or_too_long_is_an_error_and_no_end() {
    let nested = |open: &str, close: &str, times: usize| {
        let condition = format!("{}true{}", open.repeat(times), close.repeat(times));
        format!("permit(principal, action, resource) when {{ {condition} }};")
    };
    let parts = ".c".repeat(1_100);
    for (text, why) in [
        (nested("(", ")", 40_000), "more than 32 brackets within each other"),
        (nested("[", "]", 33), "more than 32 brackets within each other"),
        (nested("true || ", "", 600), "more than 500 operators"),
        (nested("if true then true else ", "", 33), "more than 32 times if"),
        (nested("!", "", 2_000), "more than 500 operators"),
        (nested("", &parts, 1), "more than 500 operators"),
        (nested("", &"[\"c\"]".repeat(1_100), 1), "more than 500 operators"),
        (nested("", &"} when { true ".repeat(1_100), 1), "more than 500 operators"),
        (nested("", &" ".repeat(70_000), 1), "longer than 65536 bytes"),
        (
            format!("// A comment ends here.\r{}", nested("(", ")", 40_000)),
            "more than 32 brackets within each other",
        ),
    ] {
        let told = faults(&text).join("\n");
        assert!(told.contains(why), "{why}: {told}");
    }
    // A text at the limits is parsed, validated, evaluated and dropped on the stack of a thread.
    let comment = format!(
        "// ((( \"\nforbid(principal, action, resource) when {{ \"{}\" == \"\" }};",
        "(.;".repeat(900)
    );
    for text in [
        nested("(", ")", 30),
        nested("if true then true else ", "", 32),
        nested("true || ", "", 490),
        nested("true && ", "", 490),
        nested("", &".c".repeat(900), 1),
        nested("", &"[\"c\"]".repeat(900), 1),
        nested("", &" } when { true".repeat(900), 1),
        format!("\"{}", "\\".repeat(1_001)),
        "\"".to_owned(),
        comment,
    ] {
        // The text need not be a valid policy.
        match CedarPolicies::parse(&[file(&text)]) {
            Ok((policies, _)) => {
                let rules = toml::from_str::<AreaSpec>("").unwrap().resolve("data", &["/d"]).unwrap();
                may(&rules.with_cedar(Arc::new(policies)), &Identity::Anonymous, &Action::Read, "/d/x");
            }
            Err(wrong) => {
                assert!(wrong.iter().all(|fault| !fault.message.contains("more than")), "{wrong:?}")
            }
        }
    }
    let long =
        format!("permit(principal, action, resource);\n// {}", "x".repeat(CedarPolicies::FILE_BYTES_MAX));
    assert_eq!(faults(&long), ["data.cedar:1: longer than 1048576 bytes"]);
}

#[test]
fn scopes_are_signed_only_where_heads_of_policies_prove_them() {
    let signed = |rules: &str, cedar: &str, asked: &str| {
        let area = area(rules, cedar);
        let asked = ScopeSet::parse(asked.split(' '));
        let kept = narrow(&asked, &[], |action, path| area.permits_below(&user("ada"), action, path));
        kept.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let open = "permit(principal, action, resource);";
    let home = "permit(principal == User::\"ada\", action in Action::\"read\", resource in Directory::\"/home/ada\");";
    for (rules, cedar, asked, expected) in [
        ("", open, "storage.read:/d storage.modify:/d", "storage.read:/d storage.modify:/d"),
        ("", home, "storage.read:/d storage.read:/d/home/ada/x", "storage.read:/d/home/ada/x"),
        ("", home, "storage.modify:/d/home/ada", ""),
        ("", &home.replace("ada\",", "bob\","), "storage.read:/d/home/ada", ""),
        // The result of a condition is unknown when the scope is signed.
        ("", &open.replace(";", " when { resource.name != \"x\" };"), "storage.read:/d", ""),
        (
            "",
            &format!("{open}forbid(principal, action, resource) when {{ resource.name == \"x\" }};"),
            "storage.read:/d",
            "",
        ),
        // Policies for another identity, action or path have no influence.
        (
            "",
            &format!(
                "{open}forbid(principal == User::\"eve\", action, resource);\
                 forbid(principal is Anonymous, action, resource);\
                 forbid(principal, action == Action::\"delete\", resource);\
                 forbid(principal, action, resource in Directory::\"/raw\");\
                 forbid(principal, action, resource in Area::\"other\");"
            ),
            "storage.read:/d/home storage.modify:/d/home storage.read:/d/raw storage.read:/d storage.read:/d/raw/x",
            "storage.read:/d/home",
        ),
        // A resource whose metadata may not be read may not be read either.
        (
            "",
            &format!("{open}forbid(principal, action == Action::\"stat\", resource);"),
            "storage.read:/d",
            "",
        ),
        ("authenticated-read = true", "", "storage.read:/d", "storage.read:/d"),
        (
            "authenticated-read = true",
            "forbid(principal, action, resource == Path::\"/a/b\");",
            "storage.read:/d/a storage.read:/d/c",
            "storage.read:/d/c",
        ),
    ] {
        assert_eq!(signed(rules, cedar, asked), expected, "{rules} {cedar}");
    }
}
