//! Schedules in the format of crontab(5).

use std::fmt;
use std::str::FromStr;

/// Minutes in the format of crontab(5): `minute hour day-of-month month day-of-week`.
///
/// Supports lists (`1,15`), ranges (`mon-fri`), steps (`*/10`) and English names of three letters; Sunday is
/// 0 and 7. If both days are restricted, one of them suffices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    text: String,
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    either_day: bool,
}

/// Error of a [`Cron`] text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadCron {
    /// The number of fields is not 5.
    Fields(usize),
    /// A field is invalid.
    Field {
        /// Name of the field.
        field: &'static str,
        /// Text of the field.
        text: String,
        /// Minimum value.
        least: u32,
        /// Maximum value.
        most: u32,
    },
}

struct Field {
    name: &'static str,
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const MINUTE: Field = Field { name: "minute", least: 0, most: 59, names: &[] };
const HOUR: Field = Field { name: "hour", least: 0, most: 23, names: &[] };
const DAY: Field = Field { name: "day of the month", least: 1, most: 31, names: &[] };
const MONTH: Field = Field {
    name: "month",
    least: 1,
    most: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
const WEEKDAY: Field = Field {
    name: "day of the week",
    least: 0,
    most: 7,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
};

impl Cron {
    /// Returns true if the schedule contains a minute, given in minutes since 1970 of the wall clock.
    pub fn matches(&self, minute: i64) -> bool {
        let (days, in_day) = (minute.div_euclid(24 * 60), minute.rem_euclid(24 * 60));
        let (month, day) = month_and_day(days);
        // 1970 began on a Thursday.
        let weekday = (days + 4).rem_euclid(7);
        let has = |set: u64, value: i64| set & (1 << value) != 0;
        let (by_day, by_weekday) = (has(self.days, day), has(self.weekdays, weekday));
        let is_day = if self.either_day { by_day || by_weekday } else { by_day && by_weekday };
        is_day && has(self.months, month) && has(self.hours, in_day / 60) && has(self.minutes, in_day % 60)
    }
}

impl FromStr for Cron {
    type Err = BadCron;

    fn from_str(text: &str) -> Result<Self, BadCron> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields.as_slice() else {
            return Err(BadCron::Fields(fields.len()));
        };
        let weekdays = WEEKDAY.read(weekday)?;
        Ok(Self {
            text: fields.join(" "),
            minutes: MINUTE.read(minute)?,
            hours: HOUR.read(hour)?,
            days: DAY.read(day)?,
            months: MONTH.read(month)?,
            weekdays: (weekdays | weekdays >> 7) & 0x7f,
            either_day: !day.starts_with('*') && !weekday.starts_with('*'),
        })
    }
}

impl Field {
    fn read(&self, text: &str) -> Result<u64, BadCron> {
        let mut set = 0;
        for part in text.split(',') {
            set |= self.part(part).ok_or_else(|| BadCron::Field {
                field: self.name,
                text: text.to_owned(),
                least: self.least,
                most: self.most,
            })?;
        }
        Ok(set)
    }

    fn part(&self, part: &str) -> Option<u64> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse::<u32>().ok().filter(|step| *step > 0)?),
            None => (part, 1),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (self.least, self.most),
            Some((from, to)) => (self.value(from)?, self.value(to)?),
            None if part.contains('/') => (self.value(range)?, self.most),
            None => (self.value(range)?, self.value(range)?),
        };
        if from > to {
            return None;
        }
        Some((from..=to).step_by(step as usize).fold(0, |set, value| set | 1 << value))
    }

    fn value(&self, text: &str) -> Option<u32> {
        let by_name = self.names.iter().position(|name| text.eq_ignore_ascii_case(name));
        let value = match by_name {
            Some(at) => at as u32 + self.least,
            None => text.parse().ok()?,
        };
        (self.least..=self.most).contains(&value).then_some(value)
    }
}

/// Returns month (1 to 12) and day of the month (from 1) of a day since 1970, in the Gregorian calendar.
///
/// The algorithm lets years begin in March, so that the leap day is the last day of a year. In such years,
/// the first day of each month is (153 month + 2) / 5.
fn month_and_day(days: i64) -> (i64, i64) {
    /// Days from 1 March of the year 0 to 1970.
    const DAYS_TO_1970: i64 = 719_468;
    const DAYS_IN_400_YEARS: i64 = 146_097;
    let in_cycle = (days.saturating_add(DAYS_TO_1970)).rem_euclid(DAYS_IN_400_YEARS);
    let year = (in_cycle - in_cycle / 1_460 + in_cycle / 36_524 - in_cycle / 146_096) / 365;
    let in_year = in_cycle - (365 * year + year / 4 - year / 100);
    let from_march = (5 * in_year + 2) / 153;
    let day = in_year - (153 * from_march + 2) / 5 + 1;
    (if from_march < 10 { from_march + 3 } else { from_march - 9 }, day)
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for BadCron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fields(count) => write!(
                f,
                "has {count} fields; five are needed: minute, hour, day of the month, month, day of the week, as in \"0 8 * * mon-fri\""
            ),
            Self::Field { field, text, least, most } => {
                write!(
                    f,
                    "{text:?} is no {field}: {least} to {most}, lists (1,5), ranges (2-4), steps (*/10) or *"
                )
            }
        }
    }
}

impl std::error::Error for BadCron {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Minutes since 1970 of several times in 2026 and 2028 (`date -u -d ... +%s`, divided by 60).
    const SUN_22_NOV_2026_08_00: i64 = 1_795_334_400 / 60;
    const LEAP_DAY_2028_12_30: i64 = 1_835_440_200 / 60;
    const DAY: i64 = 24 * 60;

    fn cron(text: &str) -> Cron {
        text.parse().unwrap()
    }

    #[test]
    fn every_field_restricts() {
        let sunday = SUN_22_NOV_2026_08_00;
        for (text, matches) in [
            ("* * * * *", true),
            ("0 8 * * *", true),
            ("1 8 * * *", false),
            ("0 7 * * *", false),
            ("0 8 22 11 *", true),
            ("0 8 21 * *", false),
            ("0 8 * oct *", false),
            ("0 8 * nov sun", true),
            ("0 8 * * 7", true),
            ("0 8 * * 0", true),
            ("0 8 * * mon-fri", false),
            ("*/15 6-10/2 * * *", true),
            ("5/5 * * * *", false),
        ] {
            assert_eq!(cron(text).matches(sunday), matches, "{text}");
        }
        assert!(cron("0 8 * * mon-fri").matches(sunday + DAY));
    }

    #[test]
    fn either_day_is_enough_where_both_are_restricted() {
        assert!(cron("0 8 1 * sun").matches(SUN_22_NOV_2026_08_00));
        assert!(cron("0 8 22 * mon").matches(SUN_22_NOV_2026_08_00));
        assert!(!cron("0 8 1 * mon").matches(SUN_22_NOV_2026_08_00));
    }

    #[test]
    fn leap_days_are_days() {
        assert!(cron("30 12 29 2 *").matches(LEAP_DAY_2028_12_30));
        assert!(cron("30 12 1 3 *").matches(LEAP_DAY_2028_12_30 + DAY));
        assert!(cron("0 0 1 1 thu").matches(0));
        assert!(cron("59 23 31 12 wed").matches(-1));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        assert_eq!("0 8 * *".parse::<Cron>(), Err(BadCron::Fields(4)));
        for (text, wrong) in [
            ("60 * * * *", "minute"),
            ("* 24 * * *", "hour"),
            ("* * 0 * *", "day of the month"),
            ("* * * foo *", "month"),
            ("* * * * fri-mon", "day of the week"),
            ("*/0 * * * *", "minute"),
            (", * * * *", "minute"),
        ] {
            match text.parse::<Cron>() {
                Err(BadCron::Field { field, .. }) => assert_eq!(field, wrong, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
