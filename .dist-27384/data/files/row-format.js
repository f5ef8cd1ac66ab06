export const notJson = (cause) => ({
    kind: 'bad',
    reason: 'json',
    message: `not JSON (${cause.message})`,
});
/** JSON as a row, or why it is none. */
export function parseJson(text) {
    try {
        return { kind: 'row', value: JSON.parse(text) };
    }
    catch (cause) {
        return notJson(cause);
    }
}
//# sourceMappingURL=row-format.js.map