//! Reusable slots with serial numbers.

/// Numbered slots that are reused. A serial number distinguishes the present content of a slot from earlier
/// ones.
#[derive(Debug)]
pub(super) struct Places<T> {
    all: Vec<Place<T>>,
    vacant: Vec<usize>,
}

#[derive(Debug)]
struct Place<T> {
    content: Option<Box<T>>,
    serial: u32,
}

impl<T> Places<T> {
    pub(super) fn new() -> Self {
        Self { all: Vec::new(), vacant: Vec::new() }
    }

    /// Returns a free slot, and the serial number of its next content.
    pub(super) fn reserve(&mut self) -> (usize, u32) {
        let at = self.vacant.pop().unwrap_or_else(|| {
            self.all.push(Place { content: None, serial: 0 });
            self.all.len() - 1
        });
        let place = &mut self.all[at];
        place.serial = place.serial.wrapping_add(1);
        (at, place.serial)
    }

    /// Releases an empty slot.
    pub(super) fn release(&mut self, at: usize) {
        self.vacant.push(at);
    }

    pub(super) fn put(&mut self, at: usize, content: Box<T>) {
        self.all[at].content = Some(content);
    }

    /// Takes the content out of a slot. The caller must put it back or release the slot.
    pub(super) fn take(&mut self, at: usize) -> Option<Box<T>> {
        self.all.get_mut(at)?.content.take()
    }

    pub(super) fn get(&self, at: usize) -> Option<&T> {
        self.all.get(at)?.content.as_deref()
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.all.get_mut(at)?.content.as_deref_mut()
    }

    /// Returns true if the content with this serial number is still in the slot.
    pub(super) fn is_there(&self, at: usize, serial: u32) -> bool {
        self.all.get(at).is_some_and(|place| place.serial == serial && place.content.is_some())
    }

    /// Returns the serial number of the present or last content of a slot.
    pub(super) fn serial(&self, at: usize) -> u32 {
        self.all.get(at).map_or(0, |place| place.serial)
    }

    /// Returns the number of slots, used or not.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_later_is_told_from_who_had_the_place_before() {
        let mut places = Places::new();
        let (at, first) = places.reserve();
        places.put(at, Box::new("first"));
        assert!(places.is_there(at, first));
        assert_eq!(places.take(at), Some(Box::new("first")));
        assert!(!places.is_there(at, first));
        places.release(at);
        let (again, second) = places.reserve();
        places.put(again, Box::new("second"));
        assert_eq!((again, places.len()), (at, 1));
        assert!(!places.is_there(at, first) && places.is_there(at, second));
    }
}
