export function copyInput(input) {
    return copied(input, new Map());
}
/** Lists, plain objects and typed arrays are copied to their depths. Instances of other classes are handed on as they are. */
function copied(value, seen) {
    if (typeof value !== 'object' || value === null)
        return value;
    const known = seen.get(value);
    if (known !== undefined)
        return known;
    if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
        const copy = value.slice();
        seen.set(value, copy);
        return copy;
    }
    if (Array.isArray(value)) {
        const list = [];
        seen.set(value, list);
        for (const one of value)
            list.push(copied(one, seen));
        return list;
    }
    const prototype = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null)
        return value;
    const copy = Object.create(prototype);
    seen.set(value, copy);
    for (const [key, one] of Object.entries(value))
        Object.defineProperty(copy, key, {
            value: copied(one, seen),
            writable: true,
            enumerable: true,
            configurable: true,
        });
    return copy;
}
//# sourceMappingURL=copy-input.js.map