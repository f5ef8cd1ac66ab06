/** `make`, called once for each key, however often it is asked; keys are the same where their JSON is. */
export function memoized(make) {
    const known = new Map();
    return key => {
        const name = JSON.stringify(key);
        let value = known.get(name);
        if (value === undefined) {
            value = make(key);
            known.set(name, value);
        }
        return value;
    };
}
//# sourceMappingURL=memoized.js.map