export class VersionNames {
    latest;
    names = new Map();
    constructor(latest) {
        this.latest = latest;
        this.names.set(latest, 'default');
    }
    /** Of the weights that were named last. */
    get current() {
        return this.names.get(this.latest);
    }
    /** The number under which an engine counts weights of this name from now on. */
    add(name) {
        if (name !== this.current)
            this.names.set(++this.latest, name);
        return this.latest;
    }
    of(version) {
        return this.names.get(version) ?? `${version}`;
    }
}
//# sourceMappingURL=version-names.js.map