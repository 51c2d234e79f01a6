//! Template of a HAProxy configuration. The lines between `{{#servers}}` and `{{/servers}}` are repeated for
//! each server, with its variables replaced.

use std::fmt::Write as _;
use std::net::SocketAddr;

/// A valid template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template(Vec<Part>);

/// A server for the template.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'e> {
    pub(super) name: &'e str,
    pub(super) address: SocketAddr,
    /// Options after the address in `server`.
    pub(super) options: &'e str,
    pub(super) state: State,
}

/// Initial state of a server in the process that reads the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The server gets requests.
    Ready,
    /// The server gets no new requests.
    Drain,
    /// The server must pass its health check first.
    Maintenance,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// A fixed line.
    Line(String),
    /// Lines that are repeated for each server.
    Servers(Vec<Vec<Piece>>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Variable(Variable),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variable {
    Server,
    Name,
    Address,
    Port,
    Weight,
    State,
    Disabled,
}

const BEGIN: &str = "{{#servers}}";
const END: &str = "{{/servers}}";
const VARIABLES: [(&str, Variable); 7] = [
    ("server", Variable::Server),
    ("name", Variable::Name),
    ("address", Variable::Address),
    ("port", Variable::Port),
    ("weight", Variable::Weight),
    ("state", Variable::State),
    ("disabled", Variable::Disabled),
];

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// If a line is invalid. Names the line and the cause.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        // The first line of the open block of servers, and its lines so far.
        let mut open: Option<(usize, Vec<Vec<Piece>>)> = None;
        for (at, line) in text.lines().enumerate() {
            let number = at + 1;
            let wrong = |why: String| format!("line {number}: {why}");
            match (line.trim(), &mut open) {
                (BEGIN, None) => open = Some((number, Vec::new())),
                (BEGIN, Some((begun, _))) => {
                    return Err(wrong(format!("{BEGIN} again, after that of line {begun}")));
                }
                (END, None) => return Err(wrong(format!("{END} without {BEGIN}"))),
                (END, Some((_, lines))) => {
                    parts.push(Part::Servers(std::mem::take(lines)));
                    open = None;
                }
                (_, Some((_, lines))) => lines.push(pieces(line).map_err(wrong)?),
                (_, None) => match pieces(line).map_err(wrong)?.as_slice() {
                    [] | [Piece::Text(_)] => parts.push(Part::Line(line.to_owned())),
                    _ => return Err(wrong(format!("variables of servers stand between {BEGIN} and {END}"))),
                },
            }
        }
        match open {
            Some((begun, _)) => Err(format!("line {begun}: {BEGIN} without {END}")),
            None if !parts.iter().any(|part| matches!(part, Part::Servers(_))) => {
                Err(format!("has no line {BEGIN}: there would be no servers"))
            }
            None => Ok(Self(parts)),
        }
    }

    /// Renders the configuration with these servers.
    pub(super) fn render(&self, entries: &[Entry<'_>]) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Line(line) => {
                    text.push_str(line);
                    text.push('\n');
                }
                Part::Servers(lines) => {
                    for (entry, line) in
                        entries.iter().flat_map(|entry| lines.iter().map(move |line| (entry, line)))
                    {
                        line.iter().for_each(|piece| entry.fill_in(piece, &mut text));
                        text.push('\n');
                    }
                }
            }
        }
        text
    }
}

impl Entry<'_> {
    fn fill_in(&self, piece: &Piece, text: &mut String) {
        let variable = match piece {
            Piece::Text(piece) => return text.push_str(piece),
            Piece::Variable(variable) => variable,
        };
        let disabled = if self.state == State::Ready { "" } else { "disabled" };
        // Writing to a String cannot fail.
        let _ = match variable {
            Variable::Server if disabled.is_empty() => {
                write!(text, "server {} {} {}", self.name, self.address, self.options)
            }
            Variable::Server => {
                write!(text, "server {} {} {} {disabled}", self.name, self.address, self.options)
            }
            Variable::Name => text.write_str(self.name),
            Variable::Address => match self.address {
                SocketAddr::V4(address) => write!(text, "{}", address.ip()),
                SocketAddr::V6(address) => write!(text, "[{}]", address.ip()),
            },
            Variable::Port => write!(text, "{}", self.address.port()),
            Variable::Weight => text.write_str(if self.state == State::Drain { "0" } else { "1" }),
            Variable::State => text.write_str(match self.state {
                State::Ready => "ready",
                State::Drain => "drain",
                State::Maintenance => "maint",
            }),
            Variable::Disabled => text.write_str(disabled),
        };
    }
}

/// Splits a line into texts and variables.
fn pieces(line: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").ok_or("{{ without }}")?;
        let known = VARIABLES.iter().find(|(known, _)| *known == name.trim());
        let (_, variable) = known.ok_or_else(|| {
            let names: Vec<&str> = VARIABLES.iter().map(|(name, _)| *name).collect();
            format!("there is no variable {{{{{}}}}}: there are {}", name.trim(), names.join(", "))
        })?;
        if !before.is_empty() {
            pieces.push(Piece::Text(before.to_owned()));
        }
        pieces.push(Piece::Variable(*variable));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry<'static>> {
        let entry = |name, address: &str, state| Entry {
            name,
            address: address.parse().unwrap(),
            options: "check inter 1s",
            state,
        };
        vec![
            entry("web-a", "127.0.0.1:81", State::Ready),
            entry("web-b", "[::1]:82", State::Drain),
            entry("web-c", "10.0.0.1:83", State::Maintenance),
        ]
    }

    #[test]
    fn each_server_gets_the_lines_between_the_marks() {
        let template = Template::parse(
            "backend web\n  balance leastconn\n  {{#servers}}\n  {{server}}\n{{/servers}}\n\n# end",
        )
        .unwrap();
        assert_eq!(
            template.render(&entries()),
            "backend web\n  balance leastconn\n  server web-a 127.0.0.1:81 check inter 1s\n  server web-b [::1]:82 check inter 1s disabled\n  \
             server web-c 10.0.0.1:83 check inter 1s disabled\n\n# end\n"
        );
        assert_eq!(template.render(&[]), "backend web\n  balance leastconn\n\n# end\n");
    }

    #[test]
    fn every_variable_is_filled_in_also_more_than_once_and_in_two_places() {
        let text = "{{#servers}}\n# {{ name }} {{state}}\nserver {{name}} {{address}}:{{port}} weight {{weight}} {{disabled}}\n{{/servers}}\n\
                    --\n{{#servers}}\nuse-server {{name}}\n{{/servers}}\n";
        assert_eq!(
            Template::parse(text).unwrap().render(&entries()),
            "# web-a ready\nserver web-a 127.0.0.1:81 weight 1 \n# web-b drain\nserver web-b [::1]:82 weight 0 disabled\n# web-c maint\n\
             server web-c 10.0.0.1:83 weight 1 disabled\n--\nuse-server web-a\nuse-server web-b\nuse-server web-c\n"
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, why) in [
            ("a\n", "has no line {{#servers}}"),
            ("{{#servers}}\n", "line 1: {{#servers}} without {{/servers}}"),
            ("a\n{{/servers}}\n", "line 2: {{/servers}} without"),
            ("{{#servers}}\n{{#servers}}\n", "line 2: {{#servers}} again, after that of line 1"),
            (
                "{{#servers}}\n{{nam}}\n{{/servers}}\n",
                "line 2: there is no variable {{nam}}: there are server, name",
            ),
            ("{{#servers}}\n{{name\n{{/servers}}\n", "line 2: {{ without }}"),
            ("x {{name}}\n{{#servers}}\n{{/servers}}\n", "line 1: variables of servers stand between"),
        ] {
            let told = Template::parse(text).unwrap_err();
            assert!(told.starts_with(why), "{text:?}: {told}");
        }
    }
}
