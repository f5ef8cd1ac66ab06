/** Where two descriptions of a model part, by the names of their fields. */
export function differences(theirs, own, path = '') {
    const [a, b] = [JSON.stringify(theirs) ?? 'nothing', JSON.stringify(own) ?? 'nothing'];
    if (a === b)
        return [];
    const open = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!open(theirs) || !open(own))
        return [`${path} is ${a}, this model's is ${b}`];
    const keys = new Set([...Object.keys(theirs), ...Object.keys(own)]);
    return [...keys].flatMap(key => differences(theirs[key], own[key], path === '' ? key : `${path}.${key}`));
}
//# sourceMappingURL=differences.js.map