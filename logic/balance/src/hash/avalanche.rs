//! HAProxy's `avalanche` mixing function.

/// Mixes `value` as HAProxy's `avalanche` (full_hash) does: Bob Jenkins' mixing of all bits into all, then a
/// multiplication by a large prime, which spreads the points of a ring.
pub(crate) fn avalanche(value: u32) -> u32 {
    let mut a = value;
    a = a.wrapping_add(0x7ed5_5d16).wrapping_add(a << 12);
    a = (a ^ 0xc761_c23c) ^ (a >> 19);
    a = a.wrapping_add(0x1656_67b1).wrapping_add(a << 5);
    a = a.wrapping_add(0xd3a2_646c) ^ (a << 9);
    a = a.wrapping_add(0xfd70_46c5).wrapping_add(a << 3);
    a = (a ^ 0xb55a_4f09) ^ (a >> 16);
    a.wrapping_mul(3_221_225_473)
}
