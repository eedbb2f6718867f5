//! Colors for terminals that have few: the nearest of 256, or of the first sixteen.

/// The values that the color cube of 256 colors has.
const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// The first sixteen as terminals usually show them.
const SIXTEEN: [[u8; 3]; 16] = [
    [0, 0, 0],
    [205, 0, 0],
    [0, 205, 0],
    [205, 205, 0],
    [0, 0, 238],
    [205, 0, 205],
    [0, 205, 205],
    [229, 229, 229],
    [127, 127, 127],
    [255, 0, 0],
    [0, 255, 0],
    [255, 255, 0],
    [92, 92, 255],
    [255, 0, 255],
    [0, 255, 255],
    [255, 255, 255],
];

/// How a color of the 256 is mixed.
pub(super) fn mixed(index: u8) -> [u8; 3] {
    let step = |number: u8| STEPS.get(usize::from(number)).copied().unwrap_or_default();
    match index {
        0..16 => SIXTEEN.get(usize::from(index)).copied().unwrap_or_default(),
        16..232 => {
            let cube = index - 16;
            [step(cube / 36), step(cube / 6 % 6), step(cube % 6)]
        }
        232.. => [8 + (index - 232) * 10; 3],
    }
}

/// The nearest of the 256, without the first sixteen, which every user sees differently.
pub(super) fn of_256(colour: [u8; 3]) -> u8 {
    nearest(colour, 16..=255)
}

/// The nearest of the first sixteen.
pub(super) fn of_16(colour: [u8; 3]) -> u8 {
    nearest(colour, 0..=15)
}

fn nearest(colour: [u8; 3], among: impl Iterator<Item = u8>) -> u8 {
    let distance = |index: &u8| -> u32 {
        let pairs = mixed(*index).into_iter().zip(colour);
        pairs
            .map(|(one, other)| u32::from(one.abs_diff(other)).pow(2))
            .sum()
    };
    among.min_by_key(distance).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_colour_is_found() {
        assert_eq!(of_256([255, 0, 0]), 196);
        assert_eq!(of_256([0, 0, 0]), 16);
        assert_eq!(of_256([8, 8, 8]), 232);
        assert_eq!(of_16([250, 10, 10]), 9);
        assert_eq!(of_16(mixed(28)), 2);
        for index in 16..=255 {
            assert_eq!(mixed(of_256(mixed(index))), mixed(index));
        }
    }
}
