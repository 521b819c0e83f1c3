// The list of runs as one element: a hundred rows are drawn at once, and only what is chosen goes back.
export default {
  template: `
    <table class="plain">
      <thead><tr><th v-for="head in heads" scope="col">{{ head }}</th></tr></thead>
      <tbody>
        <tr v-for="row in rows" :key="row.name">
          <td><input v-if="row.scored" type="checkbox" :value="row.name" v-model="chosen" @change="tell"
            :aria-label="'compare ' + row.name"></td>
          <th scope="row"><a :href="row.address">{{ row.name }}</a></th>
          <td v-for="cell in row.cells">{{ cell }}</td>
        </tr>
      </tbody>
    </table>`,
  props: { heads: Array, rows: Array },
  data() { return { chosen: [] }; },
  methods: { tell() { this.$emit("chosen", [...this.chosen]); } },
};
