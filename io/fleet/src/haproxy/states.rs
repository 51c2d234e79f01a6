//! Parser of `show servers state`: words with a heading that begins with `# ` (HAProxy's management guide,
//! section 9.3).

use std::collections::HashMap;

/// Administrative states of the servers of a backend, by name.
#[derive(Debug)]
pub(super) struct States(HashMap<String, State>);

#[derive(Debug, Clone, Copy)]
struct State {
    admin: u32,
    check: u32,
    check_status: u32,
}

/// Bit of `srv_admin_state`: forced maintenance. All other bits except the next also mean maintenance or
/// drain.
const FORCED_MAINTENANCE: u32 = 0x01;
/// Bit for a server that its configuration started in maintenance; it stays set after the maintenance ends.
const BEGAN_IN_MAINTENANCE: u32 = 0x04;
/// Bit of `srv_check_state`: the health check is enabled.
const CHECK_ENABLED: u32 = 0x04;
/// Value of `srv_check_status`: the first check has started. Greater values belong to completed checks.
const CHECK_STARTED: u32 = 2;

impl States {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let heading = lines.find_map(|line| line.strip_prefix("# "));
        let heading =
            heading.ok_or_else(|| format!("not what show servers state tells: {:.80}", text.trim()))?;
        let columns: Vec<&str> = heading.split(' ').collect();
        let column = |name: &str| {
            let at = columns.iter().position(|column| *column == name);
            at.ok_or_else(|| format!("show servers state has no column {name}"))
        };
        let name = column("srv_name")?;
        let numbers = [column("srv_admin_state")?, column("srv_check_state")?, column("srv_check_status")?];
        let state = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |at: usize| words.get(at)?.parse().ok();
            let [admin, check, check_status] = numbers.map(number);
            let state = State { admin: admin?, check: check?, check_status: check_status? };
            Some(((*words.get(name)?).to_owned(), state))
        };
        Ok(Self(lines.filter_map(state).collect()))
    }

    /// Returns true if the server is in maintenance or drain state, and so gets no new requests.
    pub(super) fn is_out(&self, server: &str) -> bool {
        self.0.get(server).is_some_and(|state| state.admin & !BEGAN_IN_MAINTENANCE != 0)
    }

    /// Returns true if the server was put into rotation before: its check is enabled and has completed once.
    pub(super) fn was_begun(&self, server: &str) -> bool {
        self.0.get(server).is_some_and(|state| {
            state.admin & FORCED_MAINTENANCE == 0
                && state.check & CHECK_ENABLED != 0
                && state.check_status > CHECK_STARTED
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
1
# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state
3 web 1 serving 127.0.0.1 2 0 1 1 1 6 3 4 6 0
3 web 2 added 127.0.0.1 0 1 1 1 1 1 0 0 2 0
3 web 3 enabled 127.0.0.1 0 8 1 1 1 1 0 0 6 0
3 web 4 ill-and-draining 127.0.0.1 0 8 1 1 1 8 2 0 6 0
3 web 5 in-maintenance 127.0.0.1 0 1 1 1 1 8 2 0 14 0
3 web 6 disabled 127.0.0.1 0 5 1 1 1 8 2 0 14 0
3 web 7 was-disabled 127.0.0.1 2 4 1 1 1 6 3 4 6 0

";

    #[test]
    fn a_server_that_is_down_and_drains_is_out_like_any_other() {
        let states = States::parse(TEXT).unwrap();
        let out = ["serving", "added", "enabled", "ill-and-draining", "in-maintenance", "other"];
        assert_eq!(out.map(|name| states.is_out(name)), [false, true, true, true, true, false]);
        assert_eq!(["disabled", "was-disabled"].map(|name| states.is_out(name)), [true, false]);
    }

    #[test]
    fn a_server_that_was_left_half_added_was_never_begun() {
        let states = States::parse(TEXT).unwrap();
        let begun = ["serving", "added", "enabled", "ill-and-draining", "in-maintenance"];
        assert_eq!(begun.map(|name| states.was_begun(name)), [true, false, false, true, false]);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        for text in ["", "Can't find backend.", "1\n# be_id srv_name\n1 a\n"] {
            assert!(States::parse(text).is_err(), "{text}");
        }
    }
}
