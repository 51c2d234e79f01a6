//! Detects the end of a flood of connections, after which memory is returned to the kernel.

/// Minimum number of connections that must have closed; fewer leave too little memory to be worth the work.
const FLOOD: u32 = 1_000;

/// Tracks the highest number of open connections.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flood {
    highest: u32,
}

impl Flood {
    /// Records the number of open connections. Returns true if a flood is over: at least half of the highest
    /// number of connections, and at least [`FLOOD`], have closed since the last flood.
    pub(super) fn is_over(&mut self, open: u32) -> bool {
        self.highest = self.highest.max(open);
        let gone = self.highest - open;
        let is_over = gone >= FLOOD && gone >= self.highest / 2;
        if is_over {
            self.highest = open;
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_over_once_when_half_of_it_has_gone() {
        let mut flood = Flood::default();
        let over =
            [0, 900, 0, 5_000, 3_000, 2_500, 2_400, 1_500, 1_400, 9_000, 10].map(|open| flood.is_over(open));
        assert_eq!(over, [false, false, false, false, false, true, false, false, false, false, true]);
    }
}
