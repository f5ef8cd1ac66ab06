export class JsonScan {
    limits;
    depth = 0;
    containers = 0;
    state = 'outside';
    constructor(limits) {
        this.limits = limits;
    }
    /** What is over its limit, in words; undefined where nothing is. */
    push(bytes) {
        let { state } = this;
        for (let i = 0; i < bytes.length; i++) {
            const byte = bytes[i];
            if (state === 'escaped')
                state = 'string';
            else if (state === 'string') {
                if (byte === 0x22)
                    state = 'outside';
                else if (byte === 0x5c)
                    state = 'escaped';
            }
            else if (byte === 0x22)
                state = 'string';
            else if (byte === 0x7b || byte === 0x5b) {
                this.depth++;
                this.containers++;
                if (this.depth > this.limits.depth)
                    return `it nests deeper than ${this.limits.depth} levels`;
                if (this.containers > this.limits.containers)
                    return `it has more than ${this.limits.containers} objects and lists`;
            }
            else if (byte === 0x7d || byte === 0x5d)
                this.depth--;
        }
        this.state = state;
        return undefined;
    }
}
//# sourceMappingURL=json-scan.js.map