//! Tests of the conversion of a StoRM WebDAV configuration.

use proptest::prelude::*;
use weir_access::convert::{Source, convert_storm};
use weir_access::rule::{AreaSpec, PolicyAction, PolicySpec, Principal};

const CMS: &str = r"# the area of CMS
name=cms
rootPath : /storage/cms
accessPoints = /cms, \
               /cms-alias
vos=cms,\u0063ms-test
orgs=https://tokens.example/cms,https://forgotten.example
authenticatedReadEnabled=yes
orgsGrantWritePermission=true
wlcgScopeAuthzEnabled=true
fineGrainedAuthzEnabled=true
filesystemType=posixfs
";

const PUBLIC: &str = "name=public\nrootPath=/storage/public\naccessPoints=/public\nanonymousReadEnabled=true\ntapeEnabled=true\nvoMapEnabled=false\n";

const APPLICATION: &str = r#"
oauth:
  enable-oidc: true
  issuers:
    - name: cms tokens
      issuer: https://tokens.example/cms
      jwkUri: https://tokens.example/cms/jwk
      enforceAudienceChecks: true
      audiences: [https://dav.example]
    - issuer: https://plain.example
      audiences: a, b
storm:
  redirector:
    enabled: true
  authz:
    policies:
      - sa: cms
        description: raw data is kept
        actions: [write, delete, fly]
        paths: [/raw/**, "/{year}/**"]
        effect: deny
        principals:
          - type: jwt-group
            params: {iss: https://tokens.example/cms, group: /cms}
          - type: martian
      - sa: cms
        description: production
        actions: all
        effect: permit
        principals:
          - &production
            type: fqan
            params: {fqan: /cms/Role=production}
          - type: x509-subject
            params:
              subject: "CN=Jo \"the robot\",O=Example"
          - type: vo
      - sa: public
        actions: [list, read]
        effect: permit
        description: all
        principals: [*production, {type: anyone}]
      - sa: nowhere
        actions: [read]
        effect: permit
        description: lost
        principals: [{type: anyone}]
      - sa: cms
        actions: [read]
        paths: ["/{a}"]
        effect: permit
        description: nothing left
        principals: [{type: anyone}]
spring:
  main: x
"#;

fn convert(areas: &[(&str, &str)], application: &str) -> (String, String) {
    let areas: Vec<_> = areas.iter().map(|&(name, text)| Source { name, text }).collect();
    let converted = convert_storm(&areas, &[Source { name: "application.yml", text: application }]).unwrap();
    let notes: Vec<_> = converted.notes.iter().map(ToString::to_string).collect();
    (converted.toml, notes.join("\n"))
}

/// Parses the areas of the output, as Weir reads its configuration.
fn areas(toml: &str) -> Vec<(String, AreaSpec)> {
    let table: toml::Table = toml.parse().unwrap_or_else(|error| panic!("{error}\n{toml}"));
    let areas = table.get("storage-area").and_then(toml::Value::as_table).cloned().unwrap_or_default();
    let spec = |(name, area): (String, toml::Value)| {
        let points: Vec<String> = area["access-points"].clone().try_into().unwrap();
        let spec: AreaSpec = area["access"].clone().try_into().unwrap();
        spec.resolve(&name, &points.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        (name, spec)
    };
    areas.into_iter().map(spec).collect()
}

#[test]
fn a_configuration_is_carried_over_and_what_is_not_is_listed() {
    let (toml, notes) = convert(&[("cms.properties", CMS), ("public.properties", PUBLIC)], APPLICATION);
    insta::assert_snapshot!("storm_toml", toml);
    insta::assert_snapshot!("storm_notes", notes);
    let areas = areas(&toml);
    assert_eq!(areas.len(), 2);
    let policies = |name: &str| -> Vec<PolicySpec> {
        areas.iter().find(|(other, _)| other == name).unwrap().1.policy.clone()
    };
    assert_eq!((policies("cms").len(), policies("public").len()), (2, 1));
}

#[test]
fn a_denial_that_cannot_be_carried_over_grows_and_a_permit_shrinks() {
    let (toml, _) = convert(&[("cms.properties", CMS)], APPLICATION);
    let policies = &areas(&toml)[0].1.policy;
    let text = |policy: &PolicySpec| toml::to_string(policy).unwrap();
    let denial = text(&policies[0]);
    assert!(denial.contains("/**\"") && denial.contains("anyone") && denial.contains("\"all\""), "{denial}");
    let permit = text(&policies[1]);
    assert!(permit.contains("fqan") && !permit.contains("\"vo\""), "{permit}");
}

#[test]
fn files_that_cannot_be_read_are_left_out_by_name_and_line() {
    let (toml, notes) = convert(
        &[
            ("a.properties", "name=a\nrootPath=\\u00"),
            ("b.properties", "name=b"),
            ("c.properties", "name=c\nrootPath=/c\naccessPoints=c\n"),
        ],
        "a: 1",
    );
    assert_eq!(toml, "");
    let lines: Vec<_> = notes.lines().collect();
    assert_eq!(lines.len(), 4, "{notes}");
    assert!(lines[0].starts_with("a.properties:2: access: "), "{notes}");
    assert!(lines[1].starts_with("b.properties:1: access: rootPath is missing"), "{notes}");
    assert!(lines[2].starts_with("c.properties:1: access: access points: c: "), "{notes}");
    assert!(lines[3].starts_with("application.yml:1: a is not carried over"), "{notes}");
}

/// The denials in an unreadable file of the service are unknown.
#[test]
fn without_a_file_of_the_service_nothing_is_carried_over() {
    let open =
        "name=p\nrootPath=/p\naccessPoints=/p\nanonymousReadEnabled=true\nfineGrainedAuthzEnabled=true\n";
    let policies = "storm:\n  authz:\n    policies:\n";
    let long = format!("# {}", "x".repeat(weir_access::convert::BYTES_MAX));
    let denial = "effect: deny, actions: [all], principals: [{type: anyone}]";
    for (line, text) in [
        (1, "a: b: c".to_owned()),
        (1, long),
        (4, format!("{policies}    - &d {{sa: p, {denial}}}\n").replace("sa: p", "<<: {sa: p}")),
        (4, format!("{policies}    - {{{denial}}}\n")),
        (4, format!("{policies}    - {{sa: \"${{AREA}}\", {denial}}}\n")),
        (4, format!("{policies}      0: {{sa: p, {denial}}}\n")),
        (1, format!("storm.authz.policies: [{{sa: p, {denial}}}]\n")),
        (2, format!("storm:\n  authz.policies: [{{sa: p, {denial}}}]\n")),
        (3, format!("storm:\n  authz:\n    policies[0]: {{sa: p, {denial}}}\n")),
        (2, format!("a: 1\nspring:\n  config.activate.on-profile: x\n{policies}    - {{sa: p, {denial}}}\n")),
    ] {
        let area = Source { name: "p.properties", text: open };
        let refused = convert_storm(&[area], &[Source { name: "application.yml", text: &text }]);
        let refused = refused.map(|converted| converted.toml).expect_err(&text[..text.len().min(200)]);
        assert_eq!(refused.file, "application.yml");
        assert!(refused.line.abs_diff(line) <= 1, "{refused}, {line} of {}", &text[..text.len().min(200)]);
    }
}

#[test]
fn a_denial_is_for_those_whom_it_was_for_and_for_more_where_nobody_can_tell_whom() {
    let open = "name=p\nrootPath=/p\naccessPoints=/p\nfineGrainedAuthzEnabled=true\n";
    let first = |policy: &str| {
        let text = format!("storm:\n  authz:\n    policies:\n    - {{sa: p, effect: deny, {policy}}}\n");
        let (toml, notes) = convert(&[("p.properties", open)], &text);
        let kept = areas(&toml)[0].1.policy.first().cloned();
        (kept.unwrap_or_else(|| panic!("{policy} is lost: {notes}")), notes)
    };
    let bad = || "bad".to_owned();
    for (text, principal, note) in [
        (
            "{type: vo, params: {vo: bad}}",
            Principal::Vo { vo: bad() },
            "vo bad: only a proxy in front (identity-from) can say",
        ),
        (
            "{type: vo-map, params: {vo: bad}}",
            // StoRM may have had such files, turned on by an environment variable.
            Principal::Anyone,
            "vo-map: storm.vo-map-files is not on in these files (STORM_WEBDAV_VO_MAP_FILES_ENABLE is not read): it denies to anyone",
        ),
        (
            "{type: fqan, params: {fqan: /bad}}",
            Principal::Fqan { fqan: "/bad".to_owned() },
            "fqan /bad: only a proxy in front (identity-from) can say",
        ),
    ] {
        let (policy, notes) = first(&format!("actions: [all], principals: [{text}]"));
        assert_eq!(policy.principals, [principal], "{text}");
        assert!(notes.contains(note), "{notes}");
    }
    let (policy, _) = first("principals: [{type: anyone}]");
    assert_eq!(policy.actions, [PolicyAction::All]);
    let (policy, _) = first("actions: {0: read}, principals: {0: {type: anyone}}, paths: {0: /x}");
    assert_eq!((policy.actions, policy.principals), (vec![PolicyAction::All], vec![Principal::Anyone]));
    assert_eq!(policy.paths, ["/**"]);
    let (policy, _) = first("actions: [read], principals: [{type: jwt-issuer, params: {iss: \"${IAM}\"}}]");
    assert_eq!(policy.principals, [Principal::Anyone]);
    let (policy, _) = first("actions: [read], paths: [[/x]], principals: [{type: anyone}]");
    assert_eq!(policy.paths, ["/**"]);
}

#[test]
fn a_later_file_replaces_the_lists_of_those_before_it() {
    let area = "name=p\nrootPath=/p\naccessPoints=/p\nfineGrainedAuthzEnabled=true\n";
    let policy = |description: &str| {
        format!(
            "storm:\n  authz:\n    policies:\n    - {{sa: p, effect: permit, actions: [all], description: {description}, \
             principals: [{{type: anyone}}]}}\noauth:\n  issuers:\n  - {{issuer: \"https://{description}.example\"}}\n"
        )
    };
    let (first, second) = (policy("first"), policy("second"));
    let application = [
        Source { name: "application.yml", text: &first },
        Source { name: "application-prod.yml", text: &second },
    ];
    let converted = convert_storm(&[Source { name: "p.properties", text: area }], &application).unwrap();
    assert!(!converted.toml.contains("first") && converted.toml.contains("second"), "{}", converted.toml);
    let in_second = converted.notes.iter().filter(|note| note.file == "application-prod.yml");
    let replaced = in_second.filter(|note| note.what.contains("replace those of the files before"));
    assert_eq!(replaced.count(), 2, "{:?}", converted.notes);
}

#[test]
fn issuers_have_names_of_their_own_whatever_they_are_called() {
    let area = "name=p\nrootPath=/p\naccessPoints=/p\n";
    let issuer =
        |name: &str, host: &str| format!("  - {{name: {name}, issuer: \"https://{host}.example\"}}\n");
    let text = format!("oauth:\n  issuers:\n{}{}{}", issuer("a-2", "x"), issuer("a", "y"), issuer("a", "z"));
    let (toml, _) = convert(&[("p.properties", area)], &text);
    let table: toml::Table = toml.parse().unwrap();
    assert_eq!(table["token-issuer"].as_table().unwrap().len(), 3, "{toml}");
}

/// Converts one section of `storm:` with an area that uses two organisations by its switch and one by a
/// policy.
fn with_service(section: &str) -> Result<(toml::Table, Vec<String>), String> {
    let area = "name=p\nrootPath=/p\naccessPoints=/p\nvos=cms,at/las\nfineGrainedAuthzEnabled=true\n";
    let text = format!(
        "storm:\n{section}  authz:\n    policies:\n    - {{sa: p, effect: deny, actions: [all], description: x, \
         principals: [{{type: vo-map, params: {{vo: test.vo}}}}]}}\n"
    );
    let area = Source { name: "p.properties", text: area };
    let converted = convert_storm(&[area], &[Source { name: "application.yml", text: &text }]);
    let converted = converted.map_err(|refused| refused.to_string())?;
    Ok((converted.toml.parse().unwrap(), converted.notes.iter().map(ToString::to_string).collect()))
}

fn text_entry((key, value): (&str, &str)) -> (String, toml::Value) {
    (key.to_owned(), value.into())
}

#[test]
fn files_that_say_who_is_a_member_are_named_if_they_count() {
    let off = "  vo-map-files:\n    enabled: false\n    config-dir: /maps\n";
    let members = toml::Table::from_iter([("type", "vo-map"), ("vo", "test.vo")].map(text_entry));
    let anyone = toml::Table::from_iter([("type", "anyone")].map(text_entry));
    // If the files do not state whether VO map files are on, a denial becomes one for all clients.
    for (section, denied) in [("", anyone), (off, members)] {
        let (toml, notes) = with_service(section).unwrap();
        assert!(toml["storage-area"]["p"].get("vo-maps").is_none(), "{toml}");
        let principals = &toml["storage-area"]["p"]["access"]["policy"][0]["principals"];
        assert_eq!(principals.as_array(), Some(&vec![toml::Value::Table(denied)]), "{toml}");
        assert!(
            notes.iter().any(|note| note.contains("storm.vo-map-files is not on in these files")),
            "{notes:?}"
        );
        // StoRM's packages set it in the environment.
        assert!(notes.iter().any(|note| note.contains("(STORM_WEBDAV_..., in StoRM's systemd unit)")));
    }
    for (section, directory) in [
        ("  vo-map-files:\n    enabled: true\n", "/etc/storm/webdav/vo-mapfiles.d"),
        ("  voMapFiles:\n    enabled: TRUE\n    configDir: /maps/\n    refreshIntervalSec: 60\n", "/maps"),
    ] {
        let (toml, notes) = with_service(section).unwrap();
        // A file cannot be named `at/las.vomap`.
        let expected: toml::Table = ["cms", "test.vo"]
            .into_iter()
            .map(|vo| (vo.to_owned(), toml::Value::String(format!("{directory}/{vo}.vomap"))))
            .collect();
        assert_eq!(toml["storage-area"]["p"]["vo-maps"].as_table(), Some(&expected));
        let named = format!("application.yml:3: storm.vo-map-files: vo-maps name {directory}/NAME.vomap");
        assert!(notes.iter().any(|note| note.starts_with(&named)), "{named}: {notes:?}");
        assert!(!notes.iter().any(|note| note.contains("is not on")), "{notes:?}");
    }
    let refused = with_service("  vo-map-files:\n    enabled: ${MAPS}\n").unwrap_err();
    assert_eq!(refused, "application.yml:3: storm.vo-map-files.enabled is neither true nor false");
}

#[test]
fn copies_between_servers_go_on_with_the_limits_that_they_had() {
    let (toml, _) = with_service("").unwrap();
    assert_eq!(toml["storage-area"]["p"]["third-party-copy"].as_bool(), Some(true));
    assert!(toml.get("third-party-copy").is_none(), "{toml}");
    let area = Source { name: "p.properties", text: "name=p\nrootPath=/p\naccessPoints=/p\n" };
    let text = "tpc:\n  max-connections: 200\n  maxConnectionsPerRoute: 0\n  verify-checksum: true\n  x: 1\nstorm:\n  \
                tpc:\n    max-connections: 300\n";
    let converted = convert_storm(&[area], &[Source { name: "application.yml", text }]).unwrap();
    let toml: toml::Table = converted.toml.parse().unwrap();
    let notes: Vec<_> = converted.notes.iter().map(ToString::to_string).collect();
    let limits: toml::Table = [("max-transfers".to_owned(), toml::Value::Integer(200))].into_iter().collect();
    assert_eq!(toml["third-party-copy"].as_table(), Some(&limits));
    for expected in [
        "application.yml:3: tpc.maxConnectionsPerRoute is no number from 1 to 10000: left out",
        "application.yml:4: tpc.verify-checksum is not carried over: clients say it with each copy",
        "application.yml:5: tpc.x is not carried over: there is no such setting",
        "application.yml:8: storm.tpc is not carried over: StoRM reads tpc at the top of the file",
    ] {
        assert!(notes.iter().any(|note| note.starts_with(expected)), "{expected}: {notes:?}");
    }
}

proptest! {
    /// The output is valid TOML with valid rules, for any text in the input files.
    #[test]
    fn what_comes_out_can_be_read(name in "\\PC{1,12}", root in "\\PC{1,12}", point in "[a-z/]{1,8}", vo in "\\PC{0,8}", text in "\\PC{0,30}") {
        let escape = |text: &str| text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
        let area = format!("name={}\nrootPath={}\naccessPoints=/{point}\nvos={}\n", escape(&name), escape(&root), escape(&vo));
        let application = format!(
            "storm:\n  authz:\n    policies:\n    - sa: {0}\n      actions: [read]\n      effect: permit\n      description: {1}\n      principals: [{{type: vo, params: {{vo: {1}}}}}]\n",
            serde_json::Value::from(name.trim()), serde_json::Value::from(text.as_str()),
        );
        let (toml, _) = convert(&[("x.properties", &area), ("y.properties", &text)], &application);
        areas(&toml);
    }
}
