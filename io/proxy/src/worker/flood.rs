//! After a flood of connections, memory goes back to the kernel.

/// Fewer connections than this leave too little behind to be worth it.
const FLOOD: u32 = 1_000;

/// Watches how many connections are open.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flood {
    highest: u32,
}

impl Flood {
    /// So many are open now. Whether a flood is over: at least half of them, and [`FLOOD`], have gone since the last one.
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
