//! Tests of the rules of a storage area.

use proptest::prelude::*;
use weir_access::Action;
use weir_access::identity::{BasicUser, Delegation, Identity};
use weir_access::rule::{AreaRules, AreaSpec, Circumstances, PathGlob, Request, decide};
use weir_access::wlcg::ScopeSet;

use crate::common::{NOW, bearer, member, path};

const RULES: &str = r#"
vos = ["cms"]
issuers = ["https://tokens.example/cms"]
token-scopes = true

[[policy]]
description = "the public may look"
effect = "permit"
actions = ["read", "list"]
paths = ["/public/**"]
principals = [{ type = "anyone" }]

[[policy]]
description = "raw data is kept"
effect = "deny"
actions = ["write", "delete"]
paths = ["/raw/**"]
principals = [
  { type = "jwt-group", issuer = "https://tokens.example/cms", group = "/cms" },
  { type = "vo", vo = "cms" },
]

[[policy]]
description = "production may do everything"
effect = "permit"
actions = ["all"]
principals = [
  { type = "jwt-group", issuer = "https://tokens.example/cms", group = "/cms/prod" },
  { type = "fqan", fqan = "/cms/Role=production" },
  { type = "user", name = "operator" },
]
"#;

fn area(rules: &str) -> AreaRules {
    toml::from_str::<AreaSpec>(rules).unwrap().resolve("cms", &["/cms", "/cms-alias"]).unwrap()
}

fn told(rules: &str, identity: &Identity, action: &Action, at: &str) -> String {
    decide(
        &area(rules),
        Request { identity, action, path: &path(at), circumstances: &Circumstances::default() },
    )
    .to_string()
}

fn allowed(rules: &str, identity: &Identity, action: &Action, at: &str) -> bool {
    decide(
        &area(rules),
        Request { identity, action, path: &path(at), circumstances: &Circumstances::default() },
    )
    .allowed()
}

fn user(name: &str) -> Identity {
    Identity::Basic(BasicUser { name: name.to_owned() })
}

fn delegated(holder: Identity, scopes: &str) -> Identity {
    Identity::Delegated(Box::new(Delegation {
        holder,
        scopes: ScopeSet::parse(scopes.split(' ')),
        area: "data".to_owned(),
        proof: None,
        expires_unix_secs: NOW + 60,
        token_id: "t".to_owned(),
    }))
}

/// Covers every reason that a decision can give.
#[test]
fn reasons_are_plain_words() {
    let rename = |to: &str| Action::Rename { to: path(to) };
    let cases = [
        (Identity::Anonymous, Action::Read, "/cms/public/x"),
        (Identity::Anonymous, Action::Read, "/cms/x"),
        (Identity::Anonymous, Action::Read, "/other/x"),
        (bearer("", &["/cms"]), Action::Create, "/cms/raw/x"),
        (member("cms", &[]), Action::Delete, "/cms/"),
        (member("cms", &[]), Action::Create, "/cms/x"),
        (member("cms", &["/cms/Role=production"]), Action::Create, "/cms-alias/raw/x"),
        (bearer("", &["/cms/prod"]), Action::Create, "/cms/raw/x"),
        (bearer("", &[]), Action::Read, "/cms/x"),
        (bearer("", &[]), Action::Create, "/cms/x"),
        (bearer("storage.read:/a", &["/cms/prod"]), Action::Read, "/cms/a/x"),
        (bearer("storage.read:/a storage.create:/b/ storage.poll", &["/cms/prod"]), Action::Read, "/cms/b"),
        (bearer("storage.modify:/", &["/cms"]), Action::Overwrite, "/cms/raw/x"),
        (user("operator"), rename("/cms/b"), "/cms/a"),
        (member("cms", &[]), rename("/cms/raw/b"), "/cms/a"),
        (delegated(user("operator"), "storage.read:/cms"), Action::Read, "/cms/x"),
        (delegated(user("operator"), "storage.read:/cms"), Action::Delete, "/cms/x"),
        (delegated(user("guest"), "storage.read:/cms"), Action::Read, "/cms/x"),
    ];
    let texts: Vec<_> = cases.iter().map(|(who, what, at)| told(RULES, who, what, at)).collect();
    insta::assert_snapshot!(texts.join("\n\n"));
}

#[test]
fn a_capability_is_limited_to_its_scopes_whatever_else_would_allow() {
    let everything = format!("anonymous-read = true\nissuers-write = true\n{RULES}");
    let token = bearer("storage.read:/a", &["/cms/prod"]);
    assert!(allowed(&everything, &token, &Action::Read, "/cms/a/x"));
    for (action, at) in
        [(Action::Read, "/cms/b"), (Action::Create, "/cms/a/x"), (Action::Read, "/cms/public/x")]
    {
        assert!(!allowed(&everything, &token, &action, at), "{action} {at}");
    }
    let unreadable = bearer("storage.read", &["/cms/prod"]);
    assert!(!allowed(&everything, &unreadable, &Action::Read, "/cms/a"));
}

#[test]
fn where_scopes_are_off_they_limit_and_do_not_grant() {
    let off = RULES.replace("token-scopes = true", "issuers-read = false");
    let scoped = |groups: &[&str]| bearer("storage.read:/a", groups);
    assert!(!allowed(&off, &scoped(&[]), &Action::Read, "/cms/a/x"), "no rule");
    assert!(allowed(&off, &scoped(&["/cms/prod"]), &Action::Read, "/cms/a/x"), "rule and scope");
    assert!(!allowed(&off, &scoped(&["/cms/prod"]), &Action::Read, "/cms/b"), "no scope");
}

#[test]
fn scopes_of_an_issuer_that_the_area_does_not_list_grant_nothing() {
    let rules =
        RULES.replace("issuers = [\"https://tokens.example/cms\"]", "issuers = [\"https://other.example\"]");
    assert!(!allowed(&rules, &bearer("storage.modify:/", &[]), &Action::Read, "/cms/x"));
}

#[test]
fn scopes_begin_at_the_access_point_or_where_the_area_says() {
    let based = format!("scope-bases = {{ \"https://tokens.example/cms\" = \"/\" }}\n{RULES}");
    let token = |path: &str| bearer(&format!("storage.read:{path}"), &[]);
    assert!(
        allowed(RULES, &token("/a"), &Action::Read, "/cms/a")
            && !allowed(RULES, &token("/cms/a"), &Action::Read, "/cms/a")
    );
    assert!(
        allowed(&based, &token("/cms/a"), &Action::Read, "/cms/a")
            && !allowed(&based, &token("/a"), &Action::Read, "/cms/a")
    );
    let elsewhere = format!("scope-bases = {{ \"https://tokens.example/cms\" = \"/cms/user\" }}\n{RULES}");
    assert!(allowed(&elsewhere, &token("/a"), &Action::Read, "/cms/user/a"));
    assert!(!allowed(&elsewhere, &token("/"), &Action::Read, "/cms/a"));
}

#[test]
fn a_deny_below_a_directory_keeps_the_directory_where_it_is() {
    let member = member("cms", &[]);
    assert!(allowed(RULES, &member, &Action::Delete, "/cms/calibration/"));
    for at in ["/cms/raw", "/cms/raw/x", "/cms/"] {
        assert!(!allowed(RULES, &member, &Action::Delete, at), "{at}");
        assert!(!allowed(RULES, &member, &Action::Rename { to: path("/cms/y") }, at), "{at}");
    }
    assert!(allowed(RULES, &member, &Action::Read, "/cms/raw/x"), "it is about writing");
}

/// A rename is a copy and a removal (RFC 4918 section 9.9).
#[test]
fn what_must_not_be_read_must_not_be_moved_to_where_it_could_be() {
    let hidden = r#"
[[policy]]
description = "not for eyes"
effect = "deny"
actions = ["read", "list"]
paths = ["/hidden/**"]
principals = [{ type = "anyone" }]
"#;
    let rules = RULES.replacen("[[policy]]", &format!("{hidden}\n[[policy]]"), 1);
    let rename = |to: &str| Action::Rename { to: path(to) };
    for who in
        [member("cms", &[]), user("operator"), bearer("storage.modify:/ storage.read:/", &["/cms/prod"])]
    {
        assert!(allowed(&rules, &who, &rename("/cms/b"), "/cms/a"), "{who}");
        assert!(allowed(&rules, &who, &Action::Delete, "/cms/hidden/a"), "{who}");
        assert!(!allowed(&rules, &who, &rename("/cms/b"), "/cms/hidden/a"), "{who}");
        assert!(!allowed(&rules, &who, &rename("/cms/b/"), "/cms/hidden/"), "{who}");
        assert!(allowed(&rules, &who, &rename("/cms/hidden/b"), "/cms/a"), "{who}: it becomes less visible");
    }
}

#[test]
fn policies_that_are_off_say_nothing() {
    let off = format!("policies = false\n{RULES}");
    assert!(!allowed(&off, &Identity::Anonymous, &Action::Read, "/cms/public/x"));
    assert!(allowed(&off, &member("cms", &[]), &Action::Create, "/cms/raw/x"));
}

#[test]
fn switches_grant_what_they_are_for() {
    let jo = user("jo");
    let mapped = match member("x", &[]) {
        Identity::X509(mut subject) => {
            subject.voms = None;
            subject.mapped_vos = vec!["cms".to_owned()];
            Identity::X509(subject)
        }
        other => other,
    };
    let token = bearer("", &[]);
    let issuer = "issuers = [\"https://tokens.example/cms\"]";
    let table: [(&str, &Identity, &str); 16] = [
        ("", &Identity::Anonymous, ""),
        ("anonymous-read = true", &Identity::Anonymous, "r"),
        ("authenticated-read = true", &Identity::Anonymous, ""),
        ("authenticated-read = true", &jo, "r"),
        ("certificate-read = true", &Identity::Anonymous, ""),
        ("certificate-read = true", &jo, ""),
        ("certificate-read = true", &token, ""),
        ("certificate-read = true", &member("atlas", &[]), "r"),
        ("vos = [\"cms\"]", &member("cms", &[]), "rsw"),
        ("vos = [\"cms\"]", &member("atlas", &[]), ""),
        ("vos = [\"cms\"]", &mapped, "rs"),
        ("vos = [\"cms\"]\nvo-map-write = true", &mapped, "rsw"),
        ("vos = [\"cms\"]\nvo-map-read = false", &mapped, ""),
        (issuer, &token, "rs"),
        (&format!("{issuer}\nissuers-write = true"), &token, "rsw"),
        ("issuers = [\"https://tokens.example\"]", &token, ""),
    ];
    for (rules, identity, may) in table {
        let actions = [
            (Action::Read, 'r'),
            (Action::List, 'r'),
            (Action::Stat, 'r'),
            (Action::Stage, 's'),
            (Action::Create, 'w'),
            (Action::Overwrite, 'w'),
            (Action::Delete, 'w'),
        ];
        for (action, letter) in actions {
            let expected = may.contains(letter);
            assert_eq!(
                allowed(rules, identity, &action, "/cms/x"),
                expected,
                "{rules}: {action} by {identity}"
            );
        }
    }
}

#[test]
fn an_area_ends_where_its_name_ends() {
    let open = "anonymous-read = true";
    assert!(allowed(open, &Identity::Anonymous, &Action::Read, "/cms/x"));
    assert!(!allowed(open, &Identity::Anonymous, &Action::Read, "/cmsx/x"));
}

#[test]
fn rules_that_are_none_are_named() {
    let fails = |rules: &str| {
        let spec: AreaSpec = toml::from_str(rules).unwrap();
        spec.resolve("cms", &["/cms"]).unwrap_err().to_string()
    };
    let policy = |rest: &str| fails(&format!("[[policy]]\ndescription = \"x\"\n{rest}"));
    let anyone = "principals = [{ type = \"anyone\" }]";
    assert_eq!(
        policy(&format!("actions = [\"read\"]\npaths = [\"raw\"]\n{anyone}")),
        "policy 1, paths: raw: a path pattern begins with /"
    );
    assert_eq!(
        policy(&format!("actions = [\"read\"]\npaths = [\"/{{a}}\"]\n{anyone}")),
        "policy 1, paths: /{a}: {...} is not known in path patterns"
    );
    assert_eq!(policy(&format!("actions = []\n{anyone}")), "policy 1, actions: there are none");
    assert!(
        policy("actions = [\"all\"]\nprincipals = []").starts_with("policy 1, principals: there are none")
    );
    assert!(toml::from_str::<AreaSpec>("anonymous-raed = true").is_err());
    assert!(AreaSpec::default().resolve("x", &[]).is_err());
}

#[test]
fn patterns_are_those_of_ant() {
    for (glob, fits, fits_not) in [
        ("/raw/**", "/raw /raw/ /raw/a /raw/a/b", "/ /rawx /a/raw"),
        ("/**", "/ /a /a/b", ""),
        ("/*", "/a", "/ /a/b"),
        ("/*.root", "/a.root /.root", "/a.roo /a/b.root"),
        ("/a?c", "/abc /aéc", "/ac /abbc"),
        ("/**/tmp", "/tmp /a/tmp /a/b/tmp", "/tmp/a /a/tmpx"),
        ("/a/**/b/*", "/a/b/c /a/x/y/b/c", "/a/b /a/x/b"),
        ("/a.c", "/a.c", "/abc"),
        ("/", "/", "/a"),
    ] {
        let parsed = PathGlob::parse(glob).unwrap();
        for at in fits.split_whitespace() {
            assert!(parsed.fits(&path(at)), "{glob} {at}");
        }
        for at in fits_not.split_whitespace() {
            assert!(!parsed.fits(&path(at)), "{glob} {at}");
        }
    }
}

/// Matches in the simplest way, in exponential time.
fn naive(glob: &[&str], path: &[&str]) -> bool {
    match (glob.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) => naive(rest, path) || (!path.is_empty() && naive(glob, &path[1..])),
        (Some((&part, rest)), Some((&name, names))) => (part == "*" || part == name) && naive(rest, names),
        _ => false,
    }
}

proptest! {
    #[test]
    fn patterns_agree_with_the_obvious_way(
        glob in prop::collection::vec(prop::sample::select(vec!["a", "b", "*", "**"]), 0..6),
        names in prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 0..6),
        below in prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..4),
    ) {
        let parsed = PathGlob::parse(&format!("/{}", glob.join("/"))).unwrap();
        let at = path(&format!("/{}", names.join("/")));
        prop_assert_eq!(parsed.fits(&at), naive(&glob, &names));
        let deeper = [names.as_slice(), below.as_slice()].concat();
        if naive(&glob, &deeper) {
            prop_assert!(parsed.may_fit_below(&at), "{} fits below {}", parsed, at);
        }
    }

    /// A token never permits more than its scopes, whatever they are.
    #[test]
    fn scopes_are_a_limit(
        operation in prop::sample::select(vec!["read", "create", "modify", "stage", "poll"]),
        below in "(/[ab]){0,2}",
        asked in "(/[ab]){0,3}",
        token_scopes: bool,
        prod: bool,
    ) {
        let rules = RULES.replace("token-scopes = true", &format!("token-scopes = {token_scopes}"));
        let scope = format!("storage.{operation}:{}", if below.is_empty() { "/" } else { &below });
        let identity = bearer(&scope, if prod { &["/cms/prod"] } else { &[] });
        for action in [Action::Read, Action::List, Action::Create, Action::Overwrite, Action::Delete, Action::Stage] {
            let relative = if asked.is_empty() { "/".to_owned() } else { asked.clone() };
            let by_scope = ScopeSet::parse([scope.as_str()]).permits(&action, &path(&relative)).is_some();
            let given = allowed(&rules, &identity, &action, &format!("/cms{asked}"));
            prop_assert!(by_scope || !given, "{} {} with {}", action, relative, scope);
        }
    }
}
