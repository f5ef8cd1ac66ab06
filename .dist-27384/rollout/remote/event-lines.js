import { StringDecoder } from 'node:string_decoder';
/** The data of server-sent events, from pieces that end anywhere. */
export class EventLines {
    decoder = new StringDecoder('utf8');
    rest = '';
    /** The events that are whole with this piece. */
    push(piece) {
        const lines = (this.rest + this.decoder.write(piece)).split('\n');
        this.rest = lines.pop();
        const events = [];
        for (const line of lines) {
            if (!line.startsWith('data:'))
                continue;
            const end = line.endsWith('\r') ? -1 : undefined;
            events.push(line.slice(line[5] === ' ' ? 6 : 5, end));
        }
        return events;
    }
    /** Characters of an event that is not whole. */
    get pending() {
        return this.rest.length;
    }
}
//# sourceMappingURL=event-lines.js.map