use proptest::prelude::*;
use weir_access::convert::{Source, convert_storm};
use weir_access::rule::{AreaSpec, PolicySpec};

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
  profiles: x
"#;

fn convert(areas: &[(&str, &str)], application: &str) -> (String, String) {
    let areas: Vec<_> = areas.iter().map(|&(name, text)| Source { name, text }).collect();
    let converted = convert_storm(&areas, &[Source { name: "application.yml", text: application }]);
    let notes: Vec<_> = converted.notes.iter().map(ToString::to_string).collect();
    (converted.toml, notes.join("\n"))
}

/// Reads the areas back as a configuration would.
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
        "a: b: c",
    );
    assert_eq!(toml, "");
    let lines: Vec<_> = notes.lines().collect();
    assert_eq!(lines.len(), 4, "{notes}");
    assert!(lines[0].starts_with("a.properties:2: "), "{notes}");
    assert!(lines[1].starts_with("b.properties:1: rootPath is missing"), "{notes}");
    assert!(lines[2].starts_with("c.properties:1: access points: c: "), "{notes}");
    assert!(lines[3].starts_with("application.yml:1: "), "{notes}");
}

proptest! {
    /// Whatever stands in a file, what comes out is TOML that reads back to valid rules.
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
