//! Parser of `show stat`: CSV with a heading that begins with `# ` (HAProxy's management guide, section 9.1).

use weir_model::ServerName;
use weir_scale::Sample;

use crate::live::{Health, Member};

/// Table of statistics.
#[derive(Debug)]
pub(super) struct Stat {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Stat {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let heading = lines.next().and_then(|line| line.strip_prefix("# "));
        let heading = heading.ok_or_else(|| format!("not what show stat tells: {:.80}", text.trim()))?;
        let columns: Vec<String> = heading.split(',').map(|name| name.trim().to_owned()).collect();
        if ["pxname", "svname", "scur", "stot", "status"]
            .iter()
            .any(|name| !columns.iter().any(|it| it == name))
        {
            return Err(format!("show stat has other columns than expected: {heading:.80}"));
        }
        let rows = lines.map(fields).collect();
        Ok(Self { columns, rows })
    }

    /// Returns the counters of a whole backend; `None` = it does not exist.
    pub(super) fn backend(&self, name: &str) -> Option<Sample> {
        let row = self.of(name).find(|row| self.text(row, "svname") == "BACKEND")?;
        Some(Sample {
            // Counts connections if the backend is in TCP mode.
            requests: self.number(row, "req_tot").or_else(|| self.number(row, "stot")),
            bytes: self.number(row, "bout"),
            active: self.number(row, "scur"),
            queued: self.number(row, "qcur"),
            p95: None,
            cpu: None,
        })
    }

    /// Returns the fleet's servers in a backend.
    pub(super) fn members(&self, backend: &str, is_ours: impl Fn(&str) -> bool) -> Vec<Member> {
        let member = |row: &Vec<String>| {
            let name = self.text(row, "svname");
            if !is_ours(name) {
                return None;
            }
            let status = self.text(row, "status");
            Some(Member {
                server: ServerName::new(name).ok()?,
                address: self.text(row, "addr").parse().ok(),
                // "UP 1/3" is about to be down, "DOWN 1/2" is about to be up. A server without a check is
                // unusable: its addition was interrupted.
                health: match status.split(' ').next() {
                    Some("UP" | "OPEN") => Health::Up(1.0),
                    _ if status == "DOWN (agent)" => Health::Shunned,
                    _ => Health::Down,
                },
                // The status of a server that is down does not show this.
                draining: status.starts_with("DRAIN") || status.starts_with("MAINT"),
                active: self.number(row, "scur").unwrap_or(0) + self.number(row, "qcur").unwrap_or(0),
            })
        };
        self.of(backend).filter_map(member).collect()
    }

    fn of<'s>(&'s self, backend: &'s str) -> impl Iterator<Item = &'s Vec<String>> {
        self.rows.iter().filter(move |row| self.text(row, "pxname") == backend)
    }

    fn text<'r>(&self, row: &'r [String], column: &str) -> &'r str {
        let at = self.columns.iter().position(|name| name == column);
        at.and_then(|at| row.get(at)).map_or("", String::as_str)
    }

    fn number(&self, row: &[String], column: &str) -> Option<u64> {
        self.text(row, column).parse().ok()
    }
}

/// Splits a line into its fields (RFC 4180), which may be quoted.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => {
                if let Some(field) = fields.last_mut() {
                    field.push(c);
                }
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# pxname,svname,qcur,scur,stot,bout,status,weight,last_chk,req_tot,addr,
front,FRONTEND,,3,9,9,OPEN,,,7,,
web,old,0,1,5,1,UP,1,,5,10.0.0.1:80,
web,web-0123456789ab,1,2,4,7,UP 1/3,1,\"a,b\",4,127.0.0.1:8001,
web,web-0123456789ac,0,0,0,0,DOWN,1,,0,127.0.0.1:8002,
web,web-0123456789ad,0,1,3,2,DRAIN,0,,3,127.0.0.1:8003,
web,web-0123456789ae,0,0,3,2,DOWN (agent),1,,3,127.0.0.1:8004,
web,BACKEND,1,4,12,1000,UP,2,,13,,
tcp,BACKEND,0,1,12,1000,UP,2,,,,

";

    #[test]
    fn counts_are_those_of_the_backend() {
        let stat = Stat::parse(TEXT).unwrap();
        let web = stat.backend("web").unwrap();
        assert_eq!(
            (web.requests, web.bytes, web.active, web.queued),
            (Some(13), Some(1000), Some(4), Some(1))
        );
        assert_eq!(stat.backend("tcp").unwrap().requests, Some(12));
        assert_eq!(stat.backend("none"), None);
    }

    #[test]
    fn members_are_those_that_are_ours_and_as_they_are() {
        let stat = Stat::parse(TEXT).unwrap();
        let members = stat.members("web", |name| name.starts_with("web-"));
        let seen: Vec<_> =
            members.iter().map(|member| (member.health, member.draining, member.active)).collect();
        let expected = [
            (Health::Up(1.0), false, 3),
            (Health::Down, false, 0),
            (Health::Down, true, 1),
            (Health::Shunned, false, 0),
        ];
        assert_eq!(seen, expected);
        assert_eq!(members[0].address, Some("127.0.0.1:8001".parse().unwrap()));
    }

    #[test]
    fn what_is_no_table_is_refused() {
        for text in ["", "Unknown command", "# a,b\n1,2\n"] {
            assert!(Stat::parse(text).is_err(), "{text}");
        }
        assert!(Stat::parse("# pxname,svname,scur,stot,status\n\"web,x\nweb\n").is_ok());
    }
}
