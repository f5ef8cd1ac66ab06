/** A picture as lines and boxes: all that curves need, and little enough to be drawn anywhere. Text is lines too. */
export {};
//# sourceMappingURL=drawing.js.map