export class Programs {
    known = new Map();
    get(key, make) {
        let program = this.known.get(key);
        if (!program) {
            program = make();
            this.known.set(key, program);
        }
        return program;
    }
    dispose() {
        for (const program of this.known.values())
            program.dispose();
        this.known.clear();
    }
}
//# sourceMappingURL=programs.js.map